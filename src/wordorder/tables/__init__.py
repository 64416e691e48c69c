"""The tables of a study, and their rendering."""
