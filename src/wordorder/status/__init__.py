"""State, cost and resource use of a study's training runs, read from files during or after a workflow run."""
