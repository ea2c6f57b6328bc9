"""Every prompt that is sent to a model, with the schema of its reply: ours, in one place.

The constant part comes first, so that a server can reuse its cache of it, and the instruction stands before and
after the material: with small models that alone decides between a right and a useless answer. Every list and
string of a JSON reply is bounded: a small model that may run on does so until its token limit, and the reply is
lost.
"""
