"""How much of MultiHop-RAG can KG-eval's factual correctness measure, and does it separate right from wrong?

Its references are names and verdicts, which state no triplet. Scored by rules (`kg_nlp`), without a judge:
- each reference as its own answer, which is right, and another query's of the same type, which is wrong;
- the recorded answers of gpt-4o-mini, right and wrong by `accuracy` (abstentions left out);
- the same answers and references rewritten as statements with their questions ("Sam Altman is the individual
  ..."), which the harness does not do: the last rows show why.

`published` is the score of the paper, for texts as they are written. An answer has a value unless answer or
reference states nothing.

Examples:
  RAG_HARNESS_DATA=data .venv/bin/python scripts/research/check_short_answers.py
  RAG_HARNESS_DATA=data .venv/bin/python scripts/research/check_short_answers.py --queries 200
"""

import argparse
import asyncio
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from common import command_line, mean, print_table, started
from judging import Answered, judge_arguments, judge_of, judged, opened

from harness.core.errors import DataError
from harness.core.records import Prediction, Query, Reference
from harness.datasets.local_files import ENV, find, iter_jsonl
from harness.evaluators.answer import is_right
from harness.evaluators.answer_normalisation import abstains, as_written, canonical
from harness.evaluators.kg.measures import KgParams
from harness.evaluators.score_preconditions import is_null, reference_answer
from harness.registry import DATASETS, EVALUATORS
from harness.runner.evaluating.models import EvaluationModels
from harness.store import SampleRow

RECORDED = "multihop_rag/recorded_answers.jsonl"
RUN = "trungviet17/gpt-4o-mini_k5_part2of6"
HEADER = ("answers", "measure", "of", "with a value", "above 0", "mean")
_PARAMS = KgParams(pairs=("factual_correctness",), scores=("multi_hop_published", "multi_hop", "community"))
_VERDICTS = {"yes": "It is true that", "no": "It is not true that"}
_AUXILIARY = re.compile(r"^(?:Does|Do|Did|Is|Are|Was|Were|Has|Have|Can|Will) ")
_OPENINGS = ((re.compile(r"^(?:Who|What) (?=(?:is|are|was|were) )"), ""), (re.compile(r"^Who "), "is who "))


class Said(NamedTuple):
    """An answer to a question, and the reference that it is compared with."""

    question: str
    reference: str
    answer: str


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--queries", type=int, help="random queries of the data set (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample")
    judge_arguments(parser)
    asked = parser.parse_args()
    rng = random.Random(asked.seed)  # noqa: S311 - no secret
    samples = {**references(asked.queries, rng), **recorded()}
    print_table(HEADER, asyncio.run(_lines(samples, asked)))


def references(count: int | None, rng: random.Random) -> dict[str, list[Said]]:
    """Every answerable query with its reference, and with a different reference of its type."""
    rows = [row for row in DATASETS.load("multihop_rag").load("default").rows if not is_null(row.reference)]
    by_type: defaultdict[str, list[str]] = defaultdict(list)
    for row in rows:
        by_type[row.reference.query_type].append(reference_answer(row.reference))
    right, wrong = [], []
    for row in rows if count is None else rng.sample(rows, min(count, len(rows))):
        gold = reference_answer(row.reference)
        others = [one for one in by_type[row.reference.query_type] if canonical(one) != canonical(gold)]
        right.append(Said(row.query.text, gold, gold))
        wrong.append(Said(row.query.text, gold, rng.choice(others)))
    return {"the reference": right, "another query's reference": wrong}


def recorded() -> dict[str, list[Said]]:
    """The recorded answers to answerable queries, unchanged and as statements."""
    path = find(RECORDED)
    if path is None:
        raise DataError(f"no {RECORDED} in the data directory", f"set {ENV}")
    found: defaultdict[str, list[Said]] = defaultdict(list)
    for row in iter_jsonl(path):
        said = Said(row.text("query"), row.text("gold_answer"), row.text("model_answer"))
        if row.text("run") == RUN and not abstains(said.reference) and not abstains(said.answer):
            kind = "right" if is_right(said.answer, [said.reference]) else "wrong"
            found[f"recorded, {kind}"].append(said)
            texts = (statement(said.question, said.reference), statement(said.question, said.answer))
            found[f"recorded, {kind}, as statements"].append(Said(said.question, *texts))
    return dict(sorted(found.items(), key=lambda one: "statements" in one[0]))


def statement(question: str, answer: str) -> str:
    """Question and answer in one sentence: the question's words, with the answer instead of the question word."""
    asked, said = question.strip().rstrip("?"), as_written(answer).rstrip(".")
    if verdict := _VERDICTS.get(canonical(answer)):
        return f"{verdict} {_AUXILIARY.sub('', asked)}."
    for opening, instead in _OPENINGS:
        if opening.match(asked):
            return f"{said} {opening.sub(instead, asked)}."
    if asked.startswith(("Which ", "What ")):
        return f"{said} is the {asked.partition(' ')[2]}."
    return f"{said} is the answer to the question {asked}."


async def _lines(samples: dict[str, list[Said]], asked: argparse.Namespace) -> list[list[str]]:
    with opened(judge_of(asked), asked.folder) as models:
        return [line for name, said in samples.items() for line in await _scored(name, said, models)]


async def _scored(name: str, said: Sequence[Said], models: EvaluationModels) -> list[list[str]]:
    spec = EVALUATORS.load("kg_nlp")
    found = (await judged(list(_rows(said)), spec, _PARAMS, models)).scores
    lines = []
    for measure in spec.measures(_PARAMS):
        values = [one.value for one in found if one.measure == measure.name and one.value is not None]
        above = sum(value > 0 for value in values)
        lines.append([name, measure.name, f"{len(said):,}", f"{len(values):,}", f"{above:,}", mean(values)])
    return lines


def _rows(said: Sequence[Said]) -> Iterator[Answered]:
    for number, one in enumerate(said):
        row = SampleRow(
            query=Query(query_id=str(number), text=one.question),
            reference=Reference(query_id=str(number), query_type="", answers=(one.reference,)),
        )
        yield row, Prediction(answer=one.answer, contexts=())


if __name__ == "__main__":
    started(main)
