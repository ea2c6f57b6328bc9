"""Records, errors, hashing, and safe handling of text and files from outside."""
