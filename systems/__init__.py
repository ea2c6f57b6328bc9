"""The systems under test: one folder each, registered by entry point, never importing each other."""
