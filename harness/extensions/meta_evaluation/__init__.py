"""Which measure to trust: scores held against people, against edits of an answer, and against each other."""
