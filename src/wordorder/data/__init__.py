"""From the downloads to the memory-mapped corpus. Knows nothing of models."""
