"""Files of answers that were produced elsewhere, as runs."""
