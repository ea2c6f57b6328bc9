"""What every system says it will ask of models, against what it asks of the fake."""

from pathlib import Path

import pytest

from harness.datasets import Dataset
from harness.protocols import Corpus, Workload
from harness.records import Expected
from harness.registry import SYSTEMS
from harness.store.asked_calls import AskedCall, latest_calls
from tests.contract.suite import FAKE, Indexed

pytestmark = pytest.mark.slow


def expected_of(system: str, demo: Dataset) -> Expected:
    spec = SYSTEMS.load(system)
    if spec.expect is None:
        pytest.skip("it says nothing: estimated from its earlier runs")
    workload = Workload(Corpus("demo", demo.documents), demo.queries, FAKE.max_tokens)
    return spec.expect(spec.index_params.model_validate({}), spec.answer_params.model_validate({}), workload)


def asked(folder: Path, scope: str) -> list[AskedCall]:
    journals = sorted((folder / "harness").glob("calls-*.sqlite"))
    return [call for path in journals for call in latest_calls(path) if call.scope.startswith(scope)]


def test_what_is_expected_is_never_negative_and_never_gold(system: str, demo: Dataset) -> None:
    expected = expected_of(system, demo)
    for work in (expected.index, expected.query):
        assert work.embedded_texts >= 0
        assert bool(work.embedded_texts) == bool(work.embedded_characters)
        for calls in work.calls:
            assert min(calls.calls, calls.input_characters, calls.output_tokens_most) > 0
    assert expected.query.calls


def test_calls_are_as_many_as_expected_or_the_most_is_said(system: str, indexed: Indexed, demo: Dataset) -> None:
    expected = expected_of(system, demo)
    for scope, work, units in (("index", expected.index, 1), ("indexer", expected.query, len(demo.queries))):
        made = [call for call in asked(indexed.folder, scope) if call.scope.split("/")[0] == scope]
        most = round(units * sum(calls.calls for calls in work.calls))
        assert len(made) <= most
        assert len(made) == most or expected.most


def test_prompts_are_about_as_long_as_expected(system: str, indexed: Indexed, demo: Dataset) -> None:
    expected = expected_of(system, demo)
    made = asked(indexed.folder, "index")
    for calls in (*expected.index.calls, *expected.query.calls):
        lengths = [call.characters for call in made if call.max_tokens == calls.output_tokens_most]
        if lengths:
            mean = sum(lengths) / len(lengths)
            assert calls.input_characters > mean / 1.5
            assert calls.input_characters < mean * 1.5 or expected.most
