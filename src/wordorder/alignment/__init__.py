"""Which source unit is translated by which target unit. Knows nothing of models."""
