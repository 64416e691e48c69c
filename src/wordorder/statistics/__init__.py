"""Statistics of arrays of numbers, independent of translation."""
