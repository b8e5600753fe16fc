"""What the toolkit costs, measured against controls in one run. See `README.md` for the method."""
