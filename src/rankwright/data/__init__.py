"""Query data: the one data type, and the files and frames it comes from and goes to."""
