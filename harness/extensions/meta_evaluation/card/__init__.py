"""What measures are worth beside people's labels: a card, its tables, its picture and its files."""
