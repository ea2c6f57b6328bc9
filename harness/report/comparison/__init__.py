"""Runs compared pair by pair with paired tests."""
