"""The GE-Chat system: a graph answer with sentences as its evidence."""
