"""The runs and the differences between them."""

from __future__ import annotations

from harness.display.text_format import NOTHING, printable
from harness.display.types import Table
from harness.report.aggregates import plain
from harness.report.labels import differences
from harness.report.view import Group

_LONGEST_ID = 200


def runs_table(group: Group) -> Table:
    """System, models and progress of each run."""
    header = ("system", "version", "generator", "embedder", "repeats", "started", "answered", "run")
    rows = []
    for view in group.views:
        identity = view.manifest.identity
        answered = f"{view.n_answered:,} of {view.n_expected:,}"
        rows.append(
            (
                printable(view.label),
                printable(str(identity.get("system", {}).get("version", NOTHING))),
                view.model("generator"),
                view.model("embedder"),
                str(view.frame.repeats),
                printable(view.manifest.created_at[:16].replace("T", " ")),
                answered if view.is_finished else f"{answered}, unfinished",
                printable(view.run.run_id, _LONGEST_ID),
            )
        )
    return Table("runs", "What was run", header, tuple(rows))


def places_table(group: Group) -> Table:
    """Machine and commit of each run."""
    header = ("system", "processor", "cores", "RAM, GB", "platform", "Python", "harness commit", "seed")
    rows = []
    for view in group.views:
        machine, identity = view.manifest.machine, view.manifest.identity
        ram = machine.get("ram_bytes")
        named = (machine.get("processor"), machine.get("cores"))
        rows.append(
            (
                printable(view.label),
                *(_told(one) for one in named),
                plain(ram if isinstance(ram, int) else None, 1e-9),
                *(_told(one) for one in (machine.get("platform"), machine.get("python"))),
                _told(view.manifest.git_commit[:12]),
                _told(identity.get("seed")),
            )
        )
    note = "manifest.json of each run has the versions of all packages."
    return Table("places", "Machine and commit", header, tuple(rows), note=note)


def _told(value: object) -> str:
    return NOTHING if value in {None, ""} else printable(str(value))


def differences_table(group: Group) -> Table | None:
    """Every parameter in which the runs differ; None for a single run."""
    differing = differences([view.manifest.identity for view in group.views])
    if not differing:
        return None
    header = ("differs in", *[printable(view.label) for view in group.views])
    rows = tuple((printable(key), *map(printable, values)) for key, values in differing.items())
    return Table("differences", "Differences between the runs", header, rows)
