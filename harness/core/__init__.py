"""Records, errors, hashing, and the reading of text and files that others wrote."""
