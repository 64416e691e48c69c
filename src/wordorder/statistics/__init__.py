"""Statistics of arrays of numbers; nothing here knows of translation."""
