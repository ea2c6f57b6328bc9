"""The answer in words: which runs compete, what differs between them, and how sure that is."""
