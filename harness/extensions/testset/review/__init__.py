"""A person reviews a question file: on a local page, or in a spreadsheet."""
