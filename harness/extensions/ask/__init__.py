"""Questions of one's own to the system of a run."""
