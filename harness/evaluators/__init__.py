"""Evaluators read saved records and score them; they never call a system."""
