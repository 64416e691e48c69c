"""The ``wordorder`` command line."""
