"""The result of `rag-harness gate` in words, as JSON and as JUnit XML."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from harness.cli.console import open_console
from harness.display import counted, number, printable
from harness.extensions.gate.conditions import GateResult
from harness.extensions.gate.holdout import Opening
from harness.report.labels import dataset_title
from harness.statistics.limit_tests import LimitOutcome, LimitTest

_WIDTH = 80
_TAGS: Mapping[LimitOutcome, str] = {"fail": "failure", "underpowered": "error"}


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
