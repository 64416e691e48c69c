"""The style and the parts that all figures share."""
