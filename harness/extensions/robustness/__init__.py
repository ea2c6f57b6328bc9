"""Perturbs the queries and documents of a run, and measures how much worse its system gets."""
