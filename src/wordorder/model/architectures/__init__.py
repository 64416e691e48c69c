"""Architectures: one file each, one interface and one registry (:mod:`.base`)."""
