"""The verdict on a group of runs: which one to choose, how sure that is, and what would change it."""
