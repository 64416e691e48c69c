"""Data preparation: from downloads to the memory-mapped corpus. Independent of models."""
