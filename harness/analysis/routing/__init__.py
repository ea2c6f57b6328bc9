"""What would be gained if each query went to the system that serves its type best, from recorded runs alone."""
