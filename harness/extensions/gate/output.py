"""Runs `rag-harness gate`: prints the result, or JSON, and writes JUnit XML."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from harness.api.config_building import prices_of_runs
from harness.cli.console import open_console, same_command
from harness.display import counted, number, printable
from harness.extensions.gate.conditions import EXITS, Condition, GateResult, check_conditions
from harness.extensions.gate.holdout import Opening, open_holdout, put_away
from harness.report.labels import dataset_title
from harness.statistics.limit_tests import LimitOutcome, LimitTest
from harness.store import find_runs
from harness.store.atomic_files import write_atomic

_WIDTH = 80
_TAGS: Mapping[LimitOutcome, str] = {"fail": "failure", "underpowered": "error"}


def gate_run(
    name: str,
    baseline: str | None,
    conditions: Sequence[Condition],
    *,
    holdout: bool,
    trust: bool,
    junit: Path | None,
    prices: Path | None,
    results: Path,
    as_json: bool,
    quiet: bool,
) -> int:
    """Check the named run and print the result. Returns the exit code. `holdout`: ask the held-out queries, and
    check over those.
    """
    if holdout:
        put_away(results)
    runs = [find_runs(results, [one])[0] for one in (name, baseline) if one is not None]
    priced = prices_of_runs(runs, prices)
    # Before the holdout is opened: a mistake must not cost a look.
    result = check_conditions(runs, conditions, priced)
    openings: tuple[Opening, ...] = ()
    if holdout:
        runs, openings = open_holdout(runs, same_command(), trust=trust, quiet=quiet)
        result = check_conditions(runs, conditions, priced)
    if junit:
        write_atomic(junit, _junit(result))
    if as_json:
        sys.stdout.write(json.dumps(_as_json(result, openings), indent=2) + "\n")
    else:
        console = open_console()
        for line in _lines(result, openings):
            console.print(line, soft_wrap=True)
    return EXITS[result.outcome]


def _lines(result: GateResult, openings: Sequence[Opening]) -> Iterator[str]:
    """The result in plain words, at 80 columns."""
    run, *others = result.runs
    against = f" against {others[0].label}" if others else ""
    held = "held-out " if openings else ""
    queries = counted(len(run.sample), f"{held}query", f"{held}queries")
    yield from _wrapped(f"{result.outcome}: {run.label}{against}, {queries} of {dataset_title(run.manifest)}", 2)
    for condition, test in result.tests:
        yield from _wrapped(f"  {test.outcome:<12}  {condition.text}: {_found(test)}", 16)
    failed = [f"{one.label} {one.n_errors:,}" for one in result.runs if one.n_errors]
    if failed:
        yield from _wrapped(f"Failed queries count as wrong: {', '.join(failed)}.", 0)
    if len(openings) > 1:
        times = f"The held-out queries were opened {len(openings):,} times, first on {openings[0].opened_at[:10]}"
        yield from _wrapped(f"{times}: choices made after looking make a pass less certain.", 0)


def _as_json(result: GateResult, openings: Sequence[Opening]) -> dict[str, Any]:
    """The result as one JSON object; its keys are listed in docs/gate.md."""
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


def _junit(result: GateResult) -> str:
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


def _wrapped(line: str, indent: int) -> list[str]:
    return textwrap.wrap(line, _WIDTH, subsequent_indent=" " * indent, break_long_words=False)
