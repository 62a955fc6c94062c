"""How data files say that a value is missing."""

MISSING_SPELLINGS = ("", "nan", "null", "na", "n/a", "none", "missing", "?")
"""What stands for a missing value in files, in lower case: readers compare without regard to case."""
