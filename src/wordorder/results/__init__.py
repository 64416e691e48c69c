"""What a study has written, read as data frames."""
