"""The sections of a page: each function takes a checked report and gives the inside of one section, as HTML."""
