"""How often do rules, or a model, classify correctly what a question asks for?

Compared with the types that the authors of MultiHop-RAG and of the demo give their questions. The rules were
written on the questions of one half of MultiHop-RAG's articles (a question belongs to its most cited article), so
the other half counts; the demo's questions are in another style by other writers. Questions without an answer are
left out: the words of a question do not show whether documents hold one. Intervals are Wilson's, as if questions
were independent.

With --by model, a generator classifies --questions questions, drawn evenly from the types; calls are saved in
--folder, so that the same command resumes.

Examples:
  .venv/bin/python scripts/research/check_query_types.py
  .venv/bin/python scripts/research/check_query_types.py --by model --questions 12 --folder /tmp/types
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from common import command_line, limits, print_table, started
from judging import judge_arguments, judge_of, metered, opened

from harness.config import DatasetConfig
from harness.llm_utils.query_classifier import QUERY_TYPES, QueryType, known_type, type_by_model, type_by_rules
from harness.llm_utils.structured_output import Unreadable
from harness.protocols import ChatModel
from harness.runner.dataset_loading import load_whole
from harness.statistics.confidence_intervals import wilson
from harness.statistics.sampling_design import clusters_of

_WRITTEN_ON, _REPORTED = "multihop_rag, the half that rules were written on", "multihop_rag, the other half"
_DEMO = "demo"


class LabelledItems(NamedTuple):
    """A question with its type in the data set."""

    question: str
    kind: QueryType


Told = list[tuple[QueryType, str]]
"""Type in the data set, and type as classified, of each question."""


def main() -> None:
    asked = _arguments()
    found = asyncio.run(_by_model(asked)) if asked.by == "model" else _by_rules()
    header = ("questions", "n", "told right", *(f"right of {kind}" for kind in QUERY_TYPES), "most often wrong")
    print_table(header, [_row(name, told) for name, told in found.items()])


def _arguments() -> argparse.Namespace:
    parser = command_line(__doc__)
    parser.add_argument("--by", choices=("rules", "model"), default="rules", help="the classifier (default rules)")
    parser.add_argument("--questions", type=int, default=12, help="questions per source for a model")
    judge_arguments(parser)
    return parser.parse_args()


def _by_rules() -> dict[str, Told]:
    return {
        name: [(one.kind, type_by_rules(one.question)) for one in labelled]
        for name, labelled in _sources().items()
    }


async def _by_model(asked: argparse.Namespace) -> dict[str, Told]:
    found: dict[str, Told] = {}
    with opened(judge_of(asked), asked.folder) as models:
        runtime = metered(models)
        for name, labelled in _sources().items():
            if name != _WRITTEN_ON:
                found[name] = []
                for one in _drawn(labelled, asked.questions):
                    with runtime.charge():
                        found[name].append((one.kind, await _asked(runtime.judge, one.question)))
        await models.disconnect()
    return found


async def _asked(model: ChatModel, question: str) -> str:
    try:
        return await type_by_model(model, question)
    except Unreadable:
        return "unreadable"


def _sources() -> dict[str, list[LabelledItems]]:
    found: dict[str, list[LabelledItems]] = {_WRITTEN_ON: [], _REPORTED: [], _DEMO: []}
    for name in ("multihop_rag", _DEMO):
        dataset = load_whole(DatasetConfig(name=name))
        clusters = clusters_of(dataset.references)
        for query, reference in zip(dataset.queries, dataset.references, strict=True):
            kind = known_type(reference.query_type)
            if kind is not None:
                half = _REPORTED if _is_odd(clusters[query.query_id]) else _WRITTEN_ON
                found[half if name != _DEMO else _DEMO].append(LabelledItems(query.text, kind))
    return found


def _is_odd(name: str) -> bool:
    return int(hashlib.sha256(name.removeprefix("document/").encode()).hexdigest(), 16) % 2 == 1


def _drawn(labelled: Sequence[LabelledItems], n: int) -> Iterator[LabelledItems]:
    rng = random.Random(0)  # noqa: S311 - a sample, no secret
    for kind in QUERY_TYPES:
        own = [one for one in labelled if one.kind == kind]
        yield from rng.sample(own, min(len(own), n // len(QUERY_TYPES)))


def _row(name: str, told: Told) -> tuple[str, ...]:
    right = [kind == said for kind, said in told]
    wrong = Counter(f"{kind} as {said}" for kind, said in told if kind != said).most_common(1)
    by_kind = [[kind == said for kind, said in told if kind == wanted] for wanted in QUERY_TYPES]
    worst = f"{wrong[0][0]} ({wrong[0][1]})" if wrong else "-"
    return (name, str(len(told)), _share(right), *(f"{sum(one)} of {len(one)}" for one in by_kind), worst)


def _share(right: Sequence[bool]) -> str:
    return f"{sum(right) / len(right):.3f}{limits(*wilson(sum(right), len(right)))}" if right else "-"


if __name__ == "__main__":
    started(main)
