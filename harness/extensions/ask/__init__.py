"""Asks the system of a run new questions."""
