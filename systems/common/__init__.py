"""What several systems share: chunking, prompts, the vector index. Parts know no system."""
