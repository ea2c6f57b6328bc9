"""Perturbed answers as run directories, so that evaluators score them like any run; no system is called.

They are in `results/sensitivity/<run>--<hash>/`, where no other command takes them for runs of a system.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from harness.core.errors import ConfigError, nearest
from harness.core.hashing import digest
from harness.evaluators.answer_normalisation import abstains, canonical
from harness.evaluators.score_preconditions import is_null, reference_answer
from harness.extensions.meta_evaluation.answers_as_run import answers_as_run
from harness.extensions.meta_evaluation.perturbations import (
    NOTHING_SWAPPED,
    SWAPS,
    Perturbation,
    PerturbationMaterial,
    PerturbedCase,
)
from harness.extraction.nlp import NlpExtractor
from harness.llm_utils.concurrency import run_to_end
from harness.store import RunDir

BaseAnswer = Literal["reference", "own"]
"""The text to edit: the reference answer, or the system's own answer."""
FEWEST_CASES = 10


@dataclass(frozen=True)
class PerturbationChoice:
    base: BaseAnswer = "reference"
    swaps: tuple[str, ...] = ()
    n: int | None = None
    """This many queries, drawn with `seed`; None: all."""
    seed: int = 0
    fewest: int = FEWEST_CASES

    @property
    def chosen(self) -> tuple[Perturbation, ...]:
        known = [swap.name for swap in SWAPS]
        for name in set(self.swaps).difference(known):
            raise ConfigError(f"there is no swap '{name}'", nearest(name, known))
        return tuple(swap for swap in SWAPS if not self.swaps or swap.name in self.swaps)


@dataclass(frozen=True)
class PerturbedRuns:
    base: RunDir
    swapped: tuple[tuple[Perturbation, RunDir], ...]
    n_cases: int
    notes: tuple[str, ...]

    @property
    def runs(self) -> tuple[RunDir, ...]:
        return (self.base, *(run for _, run in self.swapped))


def swap_answers(run: RunDir, choice: PerturbationChoice, folder: Path) -> PerturbedRuns:
    """Write the runs below `folder`, or reuse them: the same answers and choice give the same runs.

    ConfigError: the run has fewer than 10 answers that can be edited.
    """
    swaps = choice.chosen
    cases, notes = _cases(run, choice)
    if any(swap.is_parsed for swap in swaps):
        extractor = NlpExtractor(pipeline=None, progress=lambda _done, _total: None)
        graphs = run_to_end(lambda: extractor.extract([case.answer for case in cases]))
        cases = [replace(case, graph=graph) for case, graph in zip(cases, graphs, strict=True)]
    material = PerturbationMaterial(cases, choice.seed)
    base = _write(run, NOTHING_SWAPPED, cases, choice, folder)
    swapped = []
    for swap in swaps:
        if changed := swap.make(material):
            swapped.append((swap, _write(run, swap.name, changed, choice, folder)))
        else:
            notes.append(f"{swap.title}: no answer can be changed in this way")
    return PerturbedRuns(base, tuple(swapped), len(cases), tuple(notes))


def _cases(run: RunDir, choice: PerturbationChoice) -> tuple[list[PerturbedCase], list[str]]:
    """The answerable queries with an answer to edit, and a note on those without one."""
    records, found, left_out = run.records(), [], 0
    for row in run.sample():
        record = records.get((row.query.query_id, 0))
        prediction = record.prediction if record else None
        own = prediction and prediction.answer
        text = reference_answer(row.reference) if choice.base == "reference" else own
        if prediction is None or is_null(row.reference) or not text or not canonical(text) or abstains(text):
            left_out += 1
            continue
        found.append(PerturbedCase(row, prediction.model_copy(update={"answer": text})))
    why = "failed, null, abstained, or without one"
    notes = [f"{left_out:,} queries have no answer to edit ({why})"] if left_out else []
    if len(found) < choice.fewest:
        what = f"{run.run_id} has {len(found)} {choice.base} answers to edit"
        other = {"reference": "the answers of its system: --base own", "own": "the references: --base reference"}
        fix = f"name a larger run, or edit {other[choice.base]}"
        raise ConfigError(f"{what}; fewer than {choice.fewest} show nothing", fix)
    if choice.n is not None and choice.n < len(found):
        drawn = random.Random(choice.seed).sample(range(len(found)), choice.n)  # noqa: S311 - no secret
        notes.append(f"{choice.n:,} of {len(found):,} queries, drawn with seed {choice.seed}")
        found = [found[place] for place in sorted(drawn)]
    return found, notes


def _write(
    run: RunDir, swap: str, cases: Sequence[PerturbedCase], choice: PerturbationChoice, folder: Path
) -> RunDir:
    origin = run.manifest()
    answers = [(case.row, case.prediction.model_copy(update={"trace": (), "retrieved": None})) for case in cases]
    said = [
        {
            "row": row.model_dump(mode="json"),
            "answer": prediction.answer,
            "contexts": [context.model_dump(mode="json") for context in prediction.contexts],
        }
        for row, prediction in answers
    ]
    return answers_as_run(
        folder,
        f"{choice.base}-{swap}",
        answers,
        identity={
            **{key: origin.identity[key] for key in ("schema", "dataset") if key in origin.identity},
            "system": {"name": f"{choice.base}-{swap}", "version": "swapped", "index": {}, "answer": {}},
            "models": {"generator": {"provider": "imported", "model": choice.base}},
            "seed": choice.seed,
            "imported": {"of": run.run_id, "cases": digest(said)},
        },
        config={"dataset": origin.config.get("dataset", {}), "evaluators": origin.config.get("evaluators", [])},
        dataset={**origin.dataset, "n_queries": len(cases)},
        note=f"Answers of {run.run_id} with one thing changed: {swap}.",
    )
