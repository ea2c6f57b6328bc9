"""The systems under test: one folder each, registered by entry point, without imports of each other."""
