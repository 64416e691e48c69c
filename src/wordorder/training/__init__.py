"""Training of one model: the loop, its batches, its saved state and the run record."""
