"""One renderer per output format of a `Table`; each escapes the markup of its format."""
