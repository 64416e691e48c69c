"""Training of one cell: the loop, its batches, its saved state and the record of the run."""
