"""Published numbers and claims, compared with our results."""
