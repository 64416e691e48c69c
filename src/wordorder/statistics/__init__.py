"""Statistics of arrays of numbers; no module here knows about translation."""
