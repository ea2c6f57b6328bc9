"""What is gained by sending each query to the system that serves its type best, from recorded runs."""
