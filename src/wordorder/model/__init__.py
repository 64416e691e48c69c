"""The models around the encodings. They call the hooks of encodings and contain none of their names."""
