"""The tables of a study, and how a table is rendered."""
