"""Estimates of time, tokens and cost before a run."""
