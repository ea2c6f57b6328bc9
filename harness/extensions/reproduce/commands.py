"""The command `reproduce`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from harness.cli.options import QuietOption, ResultsOption, SetOption, words
from harness.protocols import CommandSpec


def reproduce(
    paper: Annotated[str, typer.Argument(help="thesis, kg_eval, llm_eval, ge_chat or rag_eval.")],
    models: Annotated[
        Literal["published", "local", "scripted"],
        typer.Option("--models", help="The paper's own (needs a key), local, or scripted (a trial)."),
    ] = "published",
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAMES", help="Only these, e.g. figure-5.1,table-5.2.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder. Default: results/papers/<paper>-<models>.")
    ] = None,
    settings: SetOption = None,
    results: ResultsOption = Path("results"),
    quiet: QuietOption = False,
) -> None:
    """Make every table and figure of a paper, under its own numbers.

    Runs the configs of the paper in configs/reproduce, scores the answers and writes the tables and figures, with
    the published values beside those here. Finished work is not repeated. docs/papers has a page for each paper:
    what was published, and what differs.

    Examples:

      rag-harness reproduce thesis --models scripted        (a minute; shows every file, its numbers mean nothing)

      rag-harness reproduce thesis --models local           (small samples with a model on this machine)

      rag-harness reproduce llm_eval --only table-I --set dataset.sample.per_type=20
    """
    from harness.api.config_building import as_settings, bench_configs
    from harness.api.evaluating import EvaluateOptions
    from harness.api.running import RunOptions, run_benches
    from harness.cli.evaluate import conclude, resumable, say_stopped
    from harness.config.shipped_files import shipped_configs
    from harness.core.errors import EXIT_TOLERANCE
    from harness.extensions.reproduce.paper import MODELS, PaperRuns, load_paper
    from harness.extensions.reproduce.write import PAGE, chosen_items, make_item, print_made, write_paper
    from harness.report import check_report
    from harness.report.folder import check_out
    from harness.report.published import read_published
    from harness.report.view import load_groups

    check_report()
    found = load_paper(paper)
    numbers = words(only)
    items, published = chosen_items(found, numbers), read_published(paper)
    out = out or results / "papers" / f"{paper}-{models}{'-part' if numbers else ''}"
    check_out(out, f"{PAGE}.json")
    files = [shipped_configs() / "reproduce" / file for file in found.configs]
    said = (*as_settings({**MODELS[models], **found.settings.get(models, {})}), *(settings or ()))
    configs = bench_configs(files, settings=said)
    with resumable("all answers are kept"):
        benches = run_benches(configs, RunOptions(results, quiet=quiet))
        last = benches[-1]
        groups = load_groups([run for bench in benches for run in bench.runs], last.spending.prices)
        runs = PaperRuns(groups, models, EvaluateOptions(files[0], (), said, None, results, quiet))
        made = [make_item(item, runs) for item in items]
        page = write_paper(found, made, published, runs, out)
    if not quiet:
        print_made(made, page, models)
    code = conclude([bench.outcome for bench in benches if bench.outcome])
    if last.stopped:
        raise typer.Exit(say_stopped(last.stopped, last.spending, last.progress))
    is_incomplete = any(one.why_not for one in made) or any(bench.failed for bench in benches)
    raise typer.Exit(EXIT_TOLERANCE if is_incomplete else code)


REPRODUCE = CommandSpec("reproduce", lambda _runtime: reproduce, "extend")
