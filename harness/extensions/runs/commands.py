"""`rag-harness runs`: list, name, tag, remove and hand on runs."""

import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.options import JsonOption, ResultsOption, RunsArgument
from harness.protocols import CommandSpec

if TYPE_CHECKING:
    from harness.store import RunDir

_RESULTS = Path("results")


class ExportTarget(StrEnum):
    archive = "archive"
    parquet = "parquet"
    trec = "trec"
    beir = "beir"
    ragas = "ragas"
    mlflow = "mlflow"
    otel = "otel"
    hf = "hf"


app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""List, name, tag, remove and hand on runs.

    Examples:

      rag-harness runs list --dataset demo

      rag-harness runs name RUN best-so-far

      rag-harness runs export RUN RUN -o runs.zip

    More: docs/runs.md, docs/handover.md.""",
)
RunArgument = Annotated[
    str, typer.Argument(help="A run id, a name, a unique part of one, or a path.", metavar="RUN")
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Delete without asking.")]


@app.command("list")
def list_runs(
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="Only runs with this tag; repeat for more.")
    ] = None,
    dataset: Annotated[str | None, typer.Option("--dataset", "-d", help="Only runs over this data set.")] = None,
    system: Annotated[str | None, typer.Option("--system", "-s", help="Only runs of this system.")] = None,
    as_json: JsonOption = False,
    results: ResultsOption = _RESULTS,
) -> None:
    """List the runs of a results folder, the newest first.

    With the parameters that vary among those listed, answered and expected queries, the mean of the metric by
    which a report on this run alone ranks it, and its size on disk.

    Example: rag-harness runs list --system naive --tag keep
    """
    from harness.cli.console import open_console
    from harness.extensions.runs.listing import print_json, print_list, summaries_of

    found = [
        one
        for one in summaries_of(results)
        if {*(tag or ())} <= {*one.tags} and dataset in {None, one.dataset} and system in {None, one.system}
    ]
    console = open_console()
    if as_json:
        print_json(found, console)
    elif found:
        print_list(found, console)
    else:
        _say(f"no such run under {results}")


@app.command("name")
def name_run(
    run: RunArgument,
    new: Annotated[str, typer.Argument(help='The new name; "" for none.', metavar="NEW")],
    results: ResultsOption = _RESULTS,
) -> None:
    """Give a run a name, which reports show and commands take.

    Example: rag-harness runs name trial1 best-so-far
    """
    from harness.config import load_config
    from harness.core.errors import ConfigError
    from harness.store import runs_called

    if new:
        load_config({"name": new})  # ConfigError for a name that cannot be typed.
    with _held(run, results) as found:
        folder = found.path.parent
        others = {*runs_called(folder, new), *([new] if (folder / new).exists() else [])} - {found.path.name}
        if new and others:
            raise ConfigError(f"the name '{new}' is taken by {min(others)}", "choose another name")
        found.rename(new)
    _say(f"{found.path.name}: {new or 'no name'}")


@app.command("tag", context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]})
def tag_run(
    run: RunArgument,
    changes: Annotated[list[str], typer.Argument(help="+TAG adds a tag, -TAG removes it.", metavar="+TAG|-TAG")],
    results: ResultsOption = _RESULTS,
) -> None:
    """Add tags to a run, or remove them.

    Example: rag-harness runs tag trial1 +keep -draft
    """
    with _held(run, results) as found:
        tags = _changed(found.name_and_tags().tags, changes)
        found.change_name_and_tags(tags=tags)
    _say(f"{found.path.name}: {' '.join(tags) or 'no tags'}")


@app.command("rm")
def remove_runs(
    runs: RunsArgument,
    calls: Annotated[bool, typer.Option("--calls", help="Also delete the calls that the runs paid.")] = False,
    yes: YesOption = False,
    results: ResultsOption = _RESULTS,
) -> None:
    """Remove runs.

    Says what is deleted, and asks first. The calls that a run paid stay, and the same run would replay them.
    Indexes stay; `gc` deletes those that no run uses.

    Example: rag-harness runs rm trial1 --yes
    """
    from harness.core.errors import ConfigError
    from harness.display import counted
    from harness.extensions.runs.removing import planned_removals
    from harness.store import find_runs
    from harness.store.run_removal import changing, remove_run

    # One by one, because copies of a run may be named together here.
    named = [find_runs(results, [name])[0] for name in runs]
    found = list({one.path.resolve(): one for one in named}.values())
    with ExitStack() as stack:
        for folder in {one.path.parent for one in found}:
            stack.enter_context(changing(folder))
        for one in found:
            stack.enter_context(one.exclusive(wait_s=0.0))
        removals = planned_removals(found, calls=calls)
        _say(*(line for _, _, lines in removals for line in lines))
        try:
            if not yes and not typer.confirm("delete?"):
                return
        except typer.Abort:
            raise ConfigError(
                "nothing is deleted without an answer", "add --yes to delete without asking"
            ) from None
        for one, keeps_calls, _ in removals:
            remove_run(one, calls=not keeps_calls)
        _say(f"deleted: {counted(len(removals), 'run')}")


@app.command("gc")
def collect_garbage(
    yes: Annotated[bool, typer.Option("--yes/--dry-run", "-y", help="Delete it; default: say what.")] = False,
    calls: Annotated[bool, typer.Option("--calls", help="Also delete the paid calls of removed runs.")] = False,
    as_json: JsonOption = False,
    results: ResultsOption = _RESULTS,
) -> None:
    """Delete indexes and documents that no run refers to.

    Without --yes it only says what. Paid calls are deleted only with --calls: whoever needs them later pays again.

    Examples:

      rag-harness runs gc

      rag-harness runs gc --yes
    """
    from harness.extensions.runs.removing import collect

    collect(results, yes=yes, calls=calls, as_json=as_json)


@app.command("export")
def export(
    runs: RunsArgument,
    out: Annotated[
        str,
        typer.Option("--out", "-o", metavar="PATH", help="The file to write, e.g. runs.zip; a folder with --to."),
    ],
    to: Annotated[ExportTarget, typer.Option("--to", help="Format.")] = ExportTarget.archive,
    results: ResultsOption = _RESULTS,
) -> None:
    """Write runs into one file, to report them elsewhere, or in the format of another tool.

    Anybody can make the same report from the file. It holds questions, reference answers, answers and the
    passages that they used, but no documents, journals of calls, keys or absolute paths. Hand it on only as far as
    the licence of the data permits.

    --to writes a folder instead: Parquet tables, a TREC run with qrels, a BEIR folder with its documents, an
    evaluation data set of ragas, traces of OpenTelemetry (otel), or rows of a Hugging Face leaderboard (hf). With
    mlflow, PATH is a database file or the URI of a server.

    Examples:

      rag-harness runs export trial1 trial2 -o runs.zip

      rag-harness runs export trial1 --to trec -o trec
    """
    from harness.display import counted
    from harness.extensions.runs.hand_on import export_runs
    from harness.store import find_runs

    found = find_runs(results, runs)
    if to is ExportTarget.archive:
        n_changed = export_runs(found, Path(out))
        size = f", {Path(out).stat().st_size:,} bytes"
    else:
        from harness.extensions.runs.other_formats import export_as

        n_changed, size = export_as(to.value, found, out), f" as {to.value}"
    _say(f"{out}: {counted(len(found), 'run')}{size}")
    if n_changed:
        _say(f"note: keys and absolute paths shortened: {n_changed:,}; a report shows them so")


@app.command("receive")
def receive(
    file: Annotated[Path, typer.Argument(help="A file that `export` wrote.", metavar="FILE")],
    results: ResultsOption = _RESULTS,
) -> None:
    """Add the runs of an exported file, checked, to a results folder.

    Nothing is overwritten. What such a run says is shown, but no server, key or file that it names is used.

    Example: rag-harness runs receive runs.zip --results theirs
    """
    from harness.extensions.runs.hand_on import receive_runs
    from harness.store import name_for, runs_called

    found = receive_runs(file, results)
    for run in found:
        name = run.manifest().name
        _say(f"received {run.run_id}")
        if name and len(runs_called(results, name)) > 1:
            _say(f"note: another run is called '{name}' too: rag-harness runs name {name_for(run)} NEW")
    _say(f"next: rag-harness report {' '.join(map(name_for, found))}")


def _changed(tags: Iterable[str], changes: Iterable[str]) -> tuple[str, ...]:
    """The tags after `+TAG` and `-TAG`, sorted. ConfigError for anything else."""
    from harness.core.errors import ConfigError, nearest

    found = set(tags)
    for change in changes:
        sign, tag = change[:1], change[1:]
        if sign not in {"+", "-"} or not re.fullmatch(r"\w[\w.-]{0,39}", tag):
            raise ConfigError(
                f"'{change}' is no change of a tag", "write +TAG or -TAG: up to 40 letters, digits, . _ -"
            )
        if sign == "-" and tag not in found:
            raise ConfigError(f"the run has no tag '{tag}'", nearest(tag, found))
        (found.add if sign == "+" else found.discard)(tag)
    return tuple(sorted(found))


def _say(*lines: str) -> None:
    """Print lines of which a part may be a stranger's."""
    from harness.cli.console import open_console

    console = open_console()
    for line in lines:
        console.print(line, soft_wrap=True)


@contextmanager
def _held(name: str, results: Path) -> "Iterator[RunDir]":
    """The run of that name, which no other process writes or removes meanwhile."""
    from harness.store import find_runs
    from harness.store.run_removal import changing

    run = find_runs(results, [name])[0]
    with changing(run.path.parent), run.exclusive(wait_s=0.0):
        yield run


RUNS = CommandSpec("runs", lambda _runtime: app, "keep")
