"""The command line: reads arguments, calls the rooms below, prints."""
