"""Import of files with answers that were produced elsewhere, as runs."""
