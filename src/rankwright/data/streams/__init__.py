"""Queries larger than memory: read part by part from files, or made on the fly."""
