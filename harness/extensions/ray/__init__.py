"""A command over many machines: its cells and shards of their queries, by workers that a cluster starts."""
