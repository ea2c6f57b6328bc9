"""Plans cells and executes them: index and answer in fresh processes, watched, resumable."""
