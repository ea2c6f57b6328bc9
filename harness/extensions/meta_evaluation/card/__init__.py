"""How well measures agree with human labels: a card with its tables, figure and files."""
