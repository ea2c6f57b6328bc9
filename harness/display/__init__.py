"""Tables, figures and sections as values that a renderer formats; names are made printable."""

from harness.display.number_format import bare, format_value, interval, value_details
from harness.display.text_format import NOTHING, counted, file_name, number, printable, short_number, short_seconds
from harness.display.types import (
    Content,
    Drawing,
    Entry,
    NumberForm,
    Picture,
    Quantity,
    Section,
    Table,
    ValueGroup,
)

__all__ = [
    "NOTHING",
    "Content",
    "Drawing",
    "Entry",
    "NumberForm",
    "Picture",
    "Quantity",
    "Section",
    "Table",
    "ValueGroup",
    "bare",
    "counted",
    "file_name",
    "format_value",
    "interval",
    "number",
    "printable",
    "short_number",
    "short_seconds",
    "value_details",
]
