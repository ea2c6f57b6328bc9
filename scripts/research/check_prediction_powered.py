"""Do intervals of judges corrected by a few labels cover the truth, and how many labels do they save?

Human labels of 400 answers to 100 questions (ClapNQ, three annotators each) are the truth. Data sets are drawn
from them with replacement; some of the answers keep their label, all keep the machine score stored beside it, and
the mean label is estimated by `harness.statistics.prediction_powered`. Drawn are single answers, or questions with
all their answers, whose labels are then correlated (clusters).

Columns: correlation of score and mean label; then for each number of labels
- held: how often the interval covered the mean of all 400; -: no interval, because there are too few clusters,
- worth: the mean squared error of the labels alone over that of labels and scores, a factor in labels,
- said: the same as estimated by the method, the median,
- alone: how often the interval of the labels alone covered it.

The machine scores here are not of judges: the stored ones are word overlaps and an embedding's.

Examples:
  .venv/bin/python scripts/research/check_prediction_powered.py
  .venv/bin/python scripts/research/check_prediction_powered.py --draws 200 --labels 20 50
"""

import argparse
import gzip
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
from common import command_line, print_table, started

from harness.core.errors import ConfigError
from harness.statistics.prediction_powered import PoweredMean, powered_mean

_FILE = Path("human_eval") / "inspectorraget_clapnq.json.gz"
_PEOPLE = ("faithfulness", "answer_relevance", "fluency")
_MACHINES = ("Bert-KPrec", "RougeL", "Recall", "Extractiveness")
_LOWEST, _HIGHEST = 1, 4


@dataclass(frozen=True)
class LabelledItems:
    """Answers with human labels and machine scores."""

    questions: Sequence[str]
    labels: np.ndarray
    """Mean of the annotators, 0 to 1."""
    scores: np.ndarray


def main() -> None:
    options = _options()
    results = _results(options.file)
    for clustered in (False, True):
        print(f"\n{'Questions with all their answers' if clustered else 'Answers one by one'}\n")
        header = ["people", "machine", "answers", "Pearson"]
        for n in options.labels:
            header += [f"{n}: held", "worth", "said", "alone"]
        print_table(header, (_row(results, pair, clustered, options) for pair in _pairs()))


def _options() -> argparse.Namespace:
    parser = command_line(__doc__)
    parser.add_argument("--file", type=Path, default=Path(os.environ.get("RAG_HARNESS_DATA", "data")) / _FILE)
    parser.add_argument("--labels", type=int, nargs="+", default=[20, 50, 100])
    parser.add_argument("--draws", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def _pairs() -> list[tuple[str, str]]:
    return [(people, machine) for people in _PEOPLE for machine in _MACHINES]


def _results(path: Path) -> list[dict[str, Any]]:
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            return list(json.load(file)["results"])
    except (OSError, ValueError, KeyError) as error:
        raise ConfigError(f"{path} cannot be read ({error})", "name it with --file, see data/README.md") from error


def _row(
    results: Sequence[dict[str, Any]], pair: tuple[str, str], clustered: bool, options: argparse.Namespace
) -> list[str]:
    data = _labelled(results, *pair)
    truth = float(data.labels.mean())
    row = [*pair, str(len(data.labels)), f"{np.corrcoef(data.labels, data.scores)[0, 1]:.2f}"]
    for n in options.labels:
        draw = np.random.default_rng([options.seed, n])
        found = [_estimates(data, n, clustered, draw) for _ in range(options.draws)]
        powered, alone = ([one[place] for one in found] for place in (0, 1))
        worth = _squared_error(alone, truth) / _squared_error(powered, truth)
        said = median(one.worth for one in powered)
        row += [_held(powered, truth), f"{worth:.2f}", f"{said:.2f}", _held(alone, truth)]
    return row


def _labelled(results: Sequence[dict[str, Any]], people: str, machine: str) -> LabelledItems:
    rows = [
        (one["task_id"], _mean_label(one["scores"][people]), float(one["scores"][machine]["system"]["value"]))
        for one in results
        if machine in one["scores"] and people in one["scores"]
    ]
    questions, labels, scores = zip(*rows, strict=True)
    return LabelledItems(questions, np.array(labels), np.array(scores))


def _mean_label(said: Mapping[str, Mapping[str, Any]]) -> float:
    return fmean((float(one["value"]) - _LOWEST) / (_HIGHEST - _LOWEST) for one in said.values())


def _estimates(
    data: LabelledItems, n: int, clustered: bool, draw: np.random.Generator
) -> tuple[PoweredMean, PoweredMean]:
    """With and without the scores, for a new draw of the data set with n labelled answers."""
    drawn = _drawn(data, clustered, draw)
    labels = {name: float(data.labels[place]) for name, _, place in drawn[:n]}
    scores = {name: float(data.scores[place]) for name, _, place in drawn}
    clusters = {name: group for name, group, _ in drawn}
    powered = powered_mean(labels, scores, clusters, fewest=0)
    # Constant scores have no influence.
    return powered, powered_mean(labels, dict.fromkeys(scores, 0.0), clusters, fewest=0)


def _drawn(data: LabelledItems, clustered: bool, draw: np.random.Generator) -> list[tuple[str, str, int]]:
    """(unique name, name of its cluster, index) of each drawn answer, in random order."""
    places = range(len(data.labels))
    groups = [[place] for place in places]
    if clustered:
        own: dict[str, list[int]] = {}
        for place in places:
            own.setdefault(data.questions[place], []).append(place)
        groups = list(own.values())
    chosen = draw.integers(0, len(groups), len(groups))
    found = [(place, one) for place, group in enumerate(chosen) for one in groups[group]]
    return [(f"{place}/{one}", str(place), one) for place, one in found]


def _squared_error(estimates: Sequence[PoweredMean], truth: float) -> float:
    return fmean((one.value - truth) ** 2 for one in estimates if one.value is not None)


def _held(estimates: Sequence[PoweredMean], truth: float) -> str:
    """How often the interval covers the truth."""
    limits = [one.interval for one in estimates if one.interval.low is not None]
    if 2 * len(limits) < len(estimates):
        return "-"
    return f"{fmean(low <= truth <= high for low, high in limits):.3f}"


if __name__ == "__main__":
    started(main)
