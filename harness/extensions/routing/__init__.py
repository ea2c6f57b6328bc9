"""Measures from recorded runs what routing gains: sending each query to the system that is best for its type."""
