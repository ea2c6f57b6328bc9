"""All prompts of our systems, with the schemas of their replies.

The constant part comes first, so that servers can cache it, and the instruction is repeated after the material,
which small models need for a correct answer. Every list and string of a JSON reply is bounded: a small model may
run on until its token limit, and the reply is lost.
"""
