"""Asks the systems of runs new questions: in the terminal, and two of them side by side on a page."""
