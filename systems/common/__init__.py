"""Code that several systems share: chunking, prompts, indexes. It does not depend on any system."""
