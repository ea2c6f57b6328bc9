"""Records at less than half their memory, for who holds a hundred thousand of them.

Of every object pydantic notes which fields were given, in a set of its own that takes as much as the object.
Lines of files give all of theirs, so that objects of a kind may share one.
"""

from typing import TypeVar

from harness.records import Record

R = TypeVar("R", bound=Record)

_GIVEN: dict[type[Record], set[str]] = {}
"""Of each kind that was met: all fields."""
_NOTHING: dict[str, object] = {}
"""In place of all that are empty."""


def slimmed(record: R) -> R:
    """The record itself, which is its reader's alone; what was given of it, and of all within it, is then all."""
    kind = type(record)
    given = _GIVEN.get(kind)
    if given is None:
        given = _GIVEN[kind] = set(kind.model_fields)
    # What pydantic's own `model_construct` sets, and as it does: records are frozen.
    object.__setattr__(record, "__pydantic_fields_set__", given)
    for name, value in record.__dict__.items():
        if isinstance(value, dict) and not value:
            record.__dict__[name] = _NOTHING
        _slim_within(value)
    return record


def _slim_within(value: object) -> None:
    if isinstance(value, Record):
        slimmed(value)
    elif isinstance(value, tuple):
        for one in value:
            _slim_within(one)
    elif isinstance(value, dict):
        for one in value.values():
            _slim_within(one)
