"""What the numbers of a table hide: one module an analysis, which gives its data; docs/analyses.md explains each."""
