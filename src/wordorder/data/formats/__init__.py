"""Dataset formats: one file each, found by the registry in ``base``."""
