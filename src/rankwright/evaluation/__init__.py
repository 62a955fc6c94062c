"""Measures run over queries: values of each query, how sure their means are, comparisons of systems, tables."""
