"""The Transformer around the encodings. It knows the places where they act, never their names."""
