"""What the papers print and claim, beside our numbers."""
