"""Positional encodings: a file each, one interface (:mod:`.base`), one registry that finds them (:mod:`.registry`)."""
