"""Closed book and gold evidence, the two brackets around every system: see README.md in this folder."""
