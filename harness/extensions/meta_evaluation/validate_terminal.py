"""`rag-harness validate`: scores a labelled set and prints its card."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from harness.api.config_building import bench_config, named_judge, price_table
from harness.cli.console import complain, open_console
from harness.cli.evaluate import conclude, resumable, say_stopped
from harness.config import BenchConfig
from harness.core.errors import EXIT_DONE, ConfigError
from harness.extensions.meta_evaluation.card.build import Card, build_card
from harness.extensions.meta_evaluation.card.files import read_values, write_card
from harness.extensions.meta_evaluation.card.tables import SHOWN, card_json, card_sentences, card_tables
from harness.extensions.meta_evaluation.labelled_sets import load_set
from harness.extensions.meta_evaluation.labelled_sets.scored import ScoredSet, evaluators_here, score_set
from harness.report.render.terminal import WIDTH, print_table
from harness.runner.progress import Reporter

_FOLDER = "validity"


@dataclass(frozen=True)
class ValidateOptions:
    """The flags of the command."""

    set_name: str
    evaluators: tuple[str, ...] = ()
    number: int | None = None
    seed: int = 0
    judge: str | None = None
    no_judge: bool = False
    again: Path | None = None
    out: Path | None = None
    config: Path | None = None
    settings: tuple[str, ...] = ()
    prices: Path | None = None
    results: Path = Path("results")
    quiet: bool = False


def print_validity(options: ValidateOptions, *, as_json: bool) -> int:
    """Score, write the card and print it; returns the exit code."""
    _check(options)
    if options.again:
        card = build_card(read_values(options.again))
        _show(card, options.out or options.again, as_json=as_json)
        return EXIT_DONE
    reporter = Reporter(quiet=options.quiet)
    human = load_set(options.set_name).drawn(options.number, options.seed)
    config, left_out = _config(options)
    for line in left_out:
        reporter.warn(line)
    with resumable("paid judgements are kept"):
        prices = price_table(options.prices or config.prices)
        scored = score_set(human, config, options.results, prices, reporter)
    return _concluded(scored, config, options, as_json=as_json)


def _concluded(scored: ScoredSet, config: BenchConfig, options: ValidateOptions, *, as_json: bool) -> int:
    if scored.values.measures:
        default = options.results / _FOLDER / scored.values.name
        _show(build_card(scored.values), options.out or default, as_json=as_json)
    code = conclude(((scored.outcome, config),))
    if stopped := scored.outcome.stopped:
        return say_stopped(stopped, scored.spending, "judgements are unfinished")
    return code


def _check(options: ValidateOptions) -> None:
    if options.judge is not None and options.no_judge:
        raise ConfigError("--judge and --no-judge contradict each other", "drop one of them")
    if options.again and (options.evaluators or options.judge or options.number is not None):
        raise ConfigError("--from makes a card from existing values", "drop -e, -n and --judge")


def _config(options: ValidateOptions) -> tuple[BenchConfig, tuple[str, ...]]:
    """The config for scoring, and one line per evaluator that cannot run."""
    settings = [*options.settings, *named_judge(options.judge)]
    chosen = options.evaluators
    left_out: tuple[str, ...] = ()
    if not chosen and options.config is None:
        chosen, left_out = evaluators_here(judged=options.judge is not None)
    if chosen:
        settings.append(f"evaluators={json.dumps(list(chosen))}")
    return bench_config(options.config, settings=settings), left_out


def _show(card: Card, out: Path, *, as_json: bool) -> None:
    picture = write_card(card, out)
    if as_json:
        sys.stdout.write(json.dumps({**card_json(card), "out": str(out)}) + "\n")
        return
    console = open_console()
    for table in card_tables(card, SHOWN):
        print_table(table, console, max(WIDTH, console.width))
    for line in card_sentences(card):
        console.print(f"- {line}", soft_wrap=True, markup=False, highlight=False)
    if picture:
        console.print(f"picture: {out / picture.path}", soft_wrap=True)
    else:
        complain("there is nothing to draw: no measure varies with these labels")
    console.print(f"card: {out}", soft_wrap=True)
