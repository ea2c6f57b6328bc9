"""The GE-Chat system: a graph answer with cited sentences as evidence."""
