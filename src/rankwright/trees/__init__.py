"""Sums of trees: their nodes, checked and in one form whichever library has made them, scores and Shapley values."""
