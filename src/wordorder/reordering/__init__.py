"""In which order the words of a source sentence would stand in the target language. Knows nothing of models."""
