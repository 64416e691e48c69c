"""The Python API, whose names ``wordorder`` has."""
