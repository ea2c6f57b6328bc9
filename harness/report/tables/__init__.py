"""The tables of a report, as `Table` values."""
