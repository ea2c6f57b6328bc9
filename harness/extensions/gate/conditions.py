"""The conditions of a gate, their tests on saved runs, and the result in words, as JSON and as JUnit XML."""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, Literal
from xml.etree.ElementTree import Element, SubElement, tostring

from harness.cli.console import open_console
from harness.core.errors import EXIT_DONE, EXIT_GATE_FAILED, EXIT_UNDERPOWERED, ConfigError
from harness.display import counted, number, printable
from harness.protocols import Measure
from harness.report.comparison.compare import paired
from harness.report.comparison.runs import drawn_queries, refuse_unusable, shared_queries
from harness.report.labels import dataset_title
from harness.report.measures import instead_of, known_measures
from harness.report.view import RunView, load_views
from harness.statistics.confidence_intervals import Interval
from harness.statistics.limit_tests import LimitOutcome, LimitTest, drop_within, mean_within
from harness.statistics.paired_comparison import compare_measure
from harness.statistics.prices import Prices
from harness.statistics.query_values import COSTS
from harness.store import RunDir, name_for

if TYPE_CHECKING:
    from harness.extensions.gate.holdout import Opening

Kind = Literal["min", "max", "max-drop"]
_SAID: Mapping[Kind, str] = {"min": "at least", "max": "at most", "max-drop": "drop at most"}
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SCALED = {"usd_per_1000": ("usd", 1000.0)}
"""Metrics in another unit than that of their values: name -> metric and factor."""
EXITS: Mapping[LimitOutcome, int] = {
    "fail": EXIT_GATE_FAILED,
    "underpowered": EXIT_UNDERPOWERED,
    "pass": EXIT_DONE,
}
"""The gravest first."""
_TAGS: Mapping[LimitOutcome, str] = {"fail": "failure", "underpowered": "error"}
"""Of JUnit."""
_WIDTH = 80


@dataclass(frozen=True)
class Condition:
    kind: Kind
    metric: str
    limit: float

    @property
    def measure(self) -> str:
        return _SCALED.get(self.metric, (self.metric,))[0]

    @property
    def factor(self) -> float:
        """The unit of `limit` in that of the values."""
        return _SCALED.get(self.metric, ("", 1.0))[1]

    @property
    def text(self) -> str:
        return f"{printable(self.metric)} {_SAID[self.kind]} {self.limit:g}"


@dataclass(frozen=True)
class GateResult:
    runs: tuple[RunView, ...]
    """The run, then the baseline if there is one."""
    tests: tuple[tuple[Condition, LimitTest], ...]
    """In the unit of each condition."""

    @property
    def outcome(self) -> LimitOutcome:
        found = {test.outcome for _, test in self.tests}
        return next(outcome for outcome in EXITS if outcome in found)


def read_conditions(options: Mapping[Kind, Sequence[str]]) -> list[Condition]:
    """The conditions of the options, by kind. ConfigError: one is malformed or repeated, or there is none."""
    found: list[Condition] = []
    for kind, texts in options.items():
        for text in texts:
            metric, _, value = text.rpartition("=")
            limit = float(value) if _NUMBER.fullmatch(value) else inf
            if not metric or not isfinite(limit):
                raise ConfigError(f"--{kind} {text!r}", f"write METRIC=NUMBER, such as --{kind} accuracy=0.05")
            if any((one.kind, one.metric) == (kind, metric) for one in found):
                raise ConfigError(f"--{kind} limits {metric!r} twice", "give one limit")
            found.append(Condition(kind, metric, limit))
    if not found:
        raise ConfigError("no condition to check", "add --min, --max or --max-drop, e.g. --min accuracy=0.7")
    return found


def check_conditions(runs: Sequence[RunDir], conditions: Sequence[Condition], prices: Prices) -> GateResult:
    """Test the conditions on a run, the first, and perhaps its baseline.

    ConfigError if a drop has no baseline; if a run is unfinished or was in a race; if the baseline has other
    queries or documents; if a run has no value of a metric, or the baseline was scored in another way.
    """
    run, *baselines = runs
    if not baselines and any(one.kind == "max-drop" for one in conditions):
        raise ConfigError("--max-drop compares with a baseline", "name a run: --baseline RUN")
    checksums = {one.records_checksum() for one in runs}
    # Two executions of one config differ at least in their times.
    if baselines and len(checksums) == 1 and all(checksums):
        what = f"{run.run_id} and the baseline have the very same answers: one is a copy of the other"
        raise ConfigError(what, "name another run: --baseline RUN")
    views = load_views(runs, prices)
    for view in views:
        refuse_unusable(view)
    if baselines:
        _refuse_other_sample(*views)
    known = known_measures(evaluation for view in views for evaluation in view.evaluations)
    for one in conditions:
        _refuse_impossible(one, known)
    tests = []
    for one in conditions:
        test = _tested(one, views, known, len(conditions))
        low, high = (None if end is None else end * one.factor for end in test.interval)
        tests.append((one, replace(test, value=test.value * one.factor, interval=Interval(low, high))))
    return GateResult(views, tuple(tests))


def _refuse_impossible(condition: Condition, known: Mapping[str, Measure]) -> None:
    measure = known.get(condition.measure)
    low, high = measure.ends if measure and measure.ends else (-inf, inf)
    if condition.kind == "max-drop":
        low, high = low - high, high - low
    if not low <= condition.limit / condition.factor <= high:
        what = f"--{condition.kind} {condition.metric}={condition.limit:g}: it lies between {low:g} and {high:g}"
        raise ConfigError(what, "write shares as 0.7 for 70 %")


def _refuse_other_sample(run: RunView, baseline: RunView) -> None:
    digests = {str(one.manifest.identity.get("dataset", {}).get("digest")) for one in (run, baseline)}
    shared = shared_queries((run, baseline), None)[0, 1]
    if len(digests) > 1 or not len(shared) == len(run.sample) == len(baseline.sample):
        what = f"{run.run.run_id} and {baseline.run.run_id} have other queries, references or documents"
        raise ConfigError(what, "run the config of the baseline again over the data of the run")


def _tested(
    condition: Condition, views: Sequence[RunView], known: Mapping[str, Measure], n_conditions: int
) -> LimitTest:
    """In the unit of the values."""
    name, limit = condition.measure, condition.limit / condition.factor
    used = views if condition.kind == "max-drop" else views[:1]
    for view in used:
        _refuse_without_values(view, name)
    measure = paired(name, [view.values[name] for view in used], known)
    # Both runs search the same documents, and a condition is about these.
    design = replace(drawn_queries(used), clusters={})
    if condition.kind != "max-drop":
        is_least = condition.kind == "min"
        return mean_within(measure, 0, design, limit, at_least=is_least, n_conditions=n_conditions)
    if measure.higher_is_better is None:
        raise ConfigError(f"'{printable(name)}' has no direction: it cannot drop", "limit it with --min or --max")
    if len({view.way(name) for view in used}) > 1:
        names = " ".join(name_for(view.run) for view in used)
        what = f"'{printable(name)}' was scored in different ways (version, parameters, models)"
        raise ConfigError(what, f"score both runs alike: rag-harness evaluate {names}")
    compared = compare_measure(measure, shared_queries(used, None), design)
    if not compared.pairs:
        raise ConfigError(f"no query has '{printable(name)}' in both runs", "choose another metric")
    return drop_within(compared, 0, 1, limit, n_conditions=n_conditions)


def _refuse_without_values(view: RunView, name: str) -> None:
    if not view.values.get(name):
        held = [printable(one) for one, own in view.values.items() if own]
        score_it = f"rag-harness evaluate {name_for(view.run)}"
        fix = instead_of(name, held, [view.manifest], known_measures(view.evaluations), score_it)
        raise ConfigError(f"{view.run.run_id} has no value of '{printable(name)}'", fix)
    if why := view.why_not_compared(name):
        score_it = f"score it: rag-harness evaluate {name_for(view.run)}"
        fix = "leave the condition out" if name in COSTS else score_it
        raise ConfigError(f"'{printable(name)}' cannot be checked: {view.run.run_id} {why}", fix)


def print_result(result: GateResult, openings: Sequence[Opening], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(_as_json(result, openings), indent=2) + "\n")
        return
    console = open_console()
    for line, indent in _lines(result, openings):
        for part in textwrap.wrap(line, _WIDTH, subsequent_indent=" " * indent, break_long_words=False):
            console.print(part, soft_wrap=True)


def _lines(result: GateResult, openings: Sequence[Opening]) -> Iterator[tuple[str, int]]:
    """The result in plain words: each line, and how far its continuation is indented."""
    run, *others = result.runs
    against = f" against {others[0].label}" if others else ""
    held = "held-out " if openings else ""
    queries = counted(len(run.sample), f"{held}query", f"{held}queries")
    yield f"{result.outcome}: {run.label}{against}, {queries} of {dataset_title(run.manifest)}", 2
    for condition, test in result.tests:
        yield f"  {test.outcome:<12}  {condition.text}: {_found(test)}", 16
    failed = [f"{one.label} {one.n_errors:,}" for one in result.runs if one.n_errors]
    if failed:
        yield f"Failed queries count as wrong: {', '.join(failed)}.", 0
    if len(openings) > 1:
        times = f"The held-out queries were opened {len(openings):,} times, first on {openings[0].opened_at[:10]}"
        yield f"{times}: choices made after looking make a pass less certain.", 0


def _as_json(result: GateResult, openings: Sequence[Opening]) -> dict[str, Any]:
    """Its keys are listed in docs/gate.md."""
    run, *others = result.runs
    return {
        "outcome": result.outcome,
        "run": run.run.run_id,
        "baseline": others[0].run.run_id if others else None,
        "n_queries": len(run.sample),
        "n_failed": run.n_errors,
        "conditions": [
            {
                "metric": condition.metric,
                "kind": condition.kind,
                "limit": condition.limit,
                "outcome": test.outcome,
                "value": test.value,
                "ci_low": test.interval.low,
                "ci_high": test.interval.high,
                "level": round(test.level, 4),
                "n": test.n,
                "n_needed": test.n_needed,
            }
            for condition, test in result.tests
        ],
        "holdout_openings": [one.model_dump(mode="json") for one in openings],
    }


def junit_text(result: GateResult) -> str:
    """The result as JUnit XML: a test case for each condition. An underpowered one is an error."""
    outcomes = [test.outcome for _, test in result.tests]
    suite = Element("testsuite", name="gate", tests=str(len(outcomes)))
    for outcome, kind in _TAGS.items():
        suite.set(f"{kind}s", str(outcomes.count(outcome)))
    run_id = printable(result.runs[0].run.run_id, 200)
    for condition, test in result.tests:
        case = SubElement(suite, "testcase", classname=run_id, name=condition.text)
        if tag := _TAGS.get(test.outcome):
            SubElement(case, tag, type=test.outcome, message=_found(test))
    return tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _found(test: LimitTest) -> str:
    """`0.81 [0.71, 0.88]; about 620 queries are needed`."""
    low, high = (number(end) for end in test.interval)
    found = f"{number(test.value)} [{low}, {high}]"
    if test.outcome != "underpowered":
        return found
    if test.n_needed is None:
        return f"{found}; no practical number of queries decides it"
    return f"{found}; {test.n:,} queries, about {test.n_needed:,} are needed"
