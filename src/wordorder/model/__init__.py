"""The models around the encodings. They know the hooks of encodings, never their names."""
