"""Plans, estimates, executes and evaluates runs."""
