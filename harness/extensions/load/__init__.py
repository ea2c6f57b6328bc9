"""Measures the system of a run under load: more and more users, or arrivals at a fixed rate."""
