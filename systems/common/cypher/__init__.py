"""Cypher that somebody else wrote: read whole against what is allowed, and written anew."""
