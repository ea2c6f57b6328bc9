"""Runs a command on many machines: cells and shards of their queries, by workers that a cluster starts."""
