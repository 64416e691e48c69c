"""What a study asks for, and what the rules of the workflow need to know to make it."""
