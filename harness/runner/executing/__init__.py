"""Executes runs in fresh, supervised processes; they can be resumed."""
