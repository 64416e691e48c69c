"""wordorder measures how positional encodings carry word order in neural machine translation."""

__version__ = "0.1.0"
