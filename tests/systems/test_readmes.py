"""Each system's README, held against its code."""

import re
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from harness.protocols import Params, SystemSpec

ROOT = Path(__file__).resolve().parents[2]
OURS = {
    point.name: point for point in entry_points(group="rag_harness.systems") if point.value.startswith("systems.")
}


@pytest.mark.parametrize("name", OURS)
def test_it_names_every_parameter_with_its_default(name: str) -> None:
    spec: SystemSpec = OURS[name].load()
    halves: dict[str, type[Params]] = {"index": spec.index_params, "answer": spec.answer_params}
    defaults = {
        f"{half}.{name}": "none" if value.default is None else str(value.default).replace(",", "")
        for half, params in halves.items()
        for name, value in params.model_fields.items()
    }
    assert written_defaults(name) == defaults


def written_defaults(name: str) -> dict[str, str]:
    """By parameter, with those of the system that it names in "All of"."""
    text = (ROOT / Path(*OURS[name].module.split(".")[:2]) / "README.md").read_text()
    # A folder of several systems has a section for each.
    sections = [part for part in re.split("^## ", text, flags=re.M) if f"`{name}`" in part.partition("\n")[0]]
    text = sections[0] if sections else text
    rows = re.findall(r"^\| `((?:index|answer)\.\w+)` \| `?([^|`]*)`? \|", text, re.M)
    base = re.search(r"^All of \[([\w-]+)\]\(\.\./[\w-]+/README\.md#parameters\), and:$", text, re.M)
    own = {parameter: value.strip().replace(",", "") for parameter, value in rows}
    return {**written_defaults(base[1]), **own} if base else own
