"""A person looks through a question file: on a page of this machine, or in a spreadsheet."""
