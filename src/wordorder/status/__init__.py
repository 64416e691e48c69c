"""What the cells of a study are doing, and what they cost, read from files while a workflow runs or after it."""
