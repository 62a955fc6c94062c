"""The estimators that people import."""
