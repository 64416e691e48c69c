"""The common style and parts of all figures."""
