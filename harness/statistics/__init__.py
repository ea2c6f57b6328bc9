"""Turns scores, records and measurements into numbers with intervals. Reads runs, never changes them."""
