"""Keeps runs: lists, names, tags, removes and hands them on."""
