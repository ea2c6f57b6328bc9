"""Cells to runs: fresh processes, watched, resumable."""
