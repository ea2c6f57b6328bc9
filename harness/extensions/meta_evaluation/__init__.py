"""Which measure to trust: compares scores with human labels, with edited answers, and with each other."""
