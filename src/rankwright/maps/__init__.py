"""Columns made of features while they are read, in front of a linear ranker."""
