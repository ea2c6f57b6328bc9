"""What tables, figures and sections are, before anybody renders them: values stay values, names are made
printable."""

from harness.display.nouns import Content, Drawing, Entry, Picture, Quantity, Rank, Section, Several, Table
from harness.display.text import NOTHING, counted, file_name, number, printable
from harness.display.written import bare, beside, interval, written

__all__ = [
    "NOTHING",
    "Content",
    "Drawing",
    "Entry",
    "Picture",
    "Quantity",
    "Rank",
    "Section",
    "Several",
    "Table",
    "bare",
    "beside",
    "counted",
    "file_name",
    "interval",
    "number",
    "printable",
    "written",
]
