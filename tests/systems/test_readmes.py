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
    readme = ROOT / Path(*OURS[name].module.split(".")[:2]) / "README.md"
    # A folder of several systems has a section for each.
    sections = [
        part for part in re.split("^## ", readme.read_text(), flags=re.M) if f"`{name}`" in part.partition("\n")[0]
    ]
    text = sections[0] if sections else readme.read_text()
    rows = re.findall(r"^\| `((?:index|answer)\.\w+)` \| `?([^|`]*)`? \|", text, re.M)
    halves: dict[str, type[Params]] = {"index": spec.index_params, "answer": spec.answer_params}
    defaults = [
        (f"{half}.{name}", "none" if value.default is None else str(value.default))
        for half, params in halves.items()
        for name, value in params.model_fields.items()
    ]
    written, meant = ([(name, value.strip().replace(",", "")) for name, value in one] for one in (rows, defaults))
    assert sorted(written) == sorted(meant)
