"""One renderer for each way of showing a `Table`; each escapes what its format would read as more than letters."""
