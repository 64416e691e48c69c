"""The outputs of a study, read as data frames."""
