"""Texts to unit vectors: documents from the cache, queries never, each finished batch kept."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from harness.config import EmbedderConfig
from harness.core.errors import MissingDependency
from harness.core.records import Usage
from harness.models import clients
from harness.models.embedders import CachedEmbedder, build_embedder
from harness.models.embedding_cache import EmbeddingCache, usage_of_entries
from harness.models.fake_faults import Reply
from harness.models.fake_model import FakeScript, bag_of_words
from harness.models.metering import Meter, metered, metered_apart
from harness.models.providers.sentence_transformers import SentenceTransformerEncoder
from harness.models.transport import CallContext
from harness.models.vectors import unit_rows

from .conftest import Lab

pytestmark = pytest.mark.usefixtures("no_tls")

Vectors = NDArray[np.float32]
OpenCache = Callable[..., EmbeddingCache]


class Encoder:
    """A bag of words, and what it was asked."""

    def __init__(self, fails_at: int | None = None, takes_s: float = 0.0) -> None:
        self.batches: list[list[str]] = []
        self.fails_at = fails_at
        self.takes_s = takes_s

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.batches.append(list(texts))
        if len(self.batches) == self.fails_at:
            raise ConnectionError("killed here")
        await asyncio.sleep(self.takes_s)
        return expected(texts)


def expected(texts: Sequence[str]) -> Vectors:
    return np.asarray([bag_of_words(text) for text in texts], dtype=np.float32)


@pytest.fixture
def open_cache(tmp_path: Path) -> Iterator[Callable[..., EmbeddingCache]]:
    """open_cache(model="fake") -> the cache of this test, as each new process opens it."""
    caches = []

    def start(model: str = "fake") -> EmbeddingCache:
        caches.append(EmbeddingCache(tmp_path / "embeddings.sqlite", model))
        return caches[-1]

    yield start
    for cache in caches:
        cache.close()


# Through the cache


async def test_documents_are_embedded_once_and_later_come_from_the_cache(open_cache: OpenCache) -> None:
    texts = ["one two", "three", "one two three"]
    first, second = Encoder(), Encoder()
    with metered(Meter("index")) as building:
        vectors = await CachedEmbedder(first, open_cache(), batch_size=2).embed_documents(texts)
    with metered(Meter("index")) as again:
        cached = await CachedEmbedder(second, open_cache(), batch_size=2).embed_documents([*texts, "new"])
    np.testing.assert_array_equal(vectors, expected(texts))
    np.testing.assert_array_equal(cached, expected([*texts, "new"]))
    assert cached.dtype == np.float32
    assert second.batches == [["new"]]
    assert (building.embedded_texts, building.cached_texts) == (3, 0)
    assert building.saved_s is None
    assert again.saved_s is not None
    assert 0.0 < again.saved_s < 5.0
    assert (again.embedded_texts, again.cached_texts) == (1, 3)


async def test_an_encoder_within_the_process_is_work_beside_a_call_that_waits(
    open_cache: OpenCache, call_context: CallContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a query that embeds for a second beside a throttled call would have taken no time."""
    slow = Encoder(takes_s=0.2)
    monkeypatch.setattr("harness.models.embedders.provider_of", lambda _: SimpleNamespace(encoder=lambda _: slow))
    embedder = build_embedder(EmbedderConfig(provider="fake", model="m"), call_context, open_cache())
    with metered(Meter("answer/q1/0/1")) as meter, meter.call() as call:
        call.turn(waits=True)
        await embedder.embed_query("who?")
        call.turn(waits=False)
    assert slow.batches == [["who?"]]
    assert meter.throttled_s < 0.1


async def test_a_query_is_embedded_every_time_even_where_its_text_is_cached(open_cache: OpenCache) -> None:
    encoder = Encoder()
    embedder = CachedEmbedder(encoder, open_cache(), batch_size=8)
    with metered(Meter("answer/q1/0/1")) as meter:
        await embedder.embed_documents(["who?"])
        for _ in range(2):
            np.testing.assert_array_equal(await embedder.embed_query("who?"), expected(["who?"])[0])
        await embedder.embed_query("never seen")
    assert encoder.batches == [["who?"], ["who?"], ["who?"], ["never seen"]]
    assert (meter.embedded_texts, meter.cached_texts) == (4, 0)
    assert not open_cache().entries(["never seen"])


async def test_a_text_that_stands_twice_is_embedded_once_and_comes_from_no_cache(open_cache: OpenCache) -> None:
    """Otherwise the cost of a first build would be reported as that of a cached one."""
    encoder = Encoder()
    embedder = CachedEmbedder(encoder, open_cache(), batch_size=8)
    with metered(Meter("index")) as meter:
        vectors = await embedder.embed_documents(["a", "b", "a", "a"])
        later = await embedder.embed_documents(["b", "c"])
    np.testing.assert_array_equal(vectors, expected(["a", "b", "a", "a"]))
    np.testing.assert_array_equal(later, expected(["b", "c"]))
    assert encoder.batches == [["a", "b"], ["c"]]
    assert (meter.embedded_texts, meter.cached_texts, meter.saved_s) == (3, 0, None)


async def test_a_text_that_two_queries_need_at_the_same_time_is_paid_once(open_cache: OpenCache) -> None:
    encoder = Encoder(takes_s=0.01)
    embedder = CachedEmbedder(encoder, open_cache(), batch_size=8)
    with metered(Meter("judge")) as meter:
        await asyncio.gather(embedder.embed_documents(["a", "b"]), embedder.embed_documents(["b", "c"]))
    assert encoder.batches == [["a", "b"], ["c"]]
    assert (meter.embedded_texts, meter.cached_texts) == (3, 0)


async def test_a_text_whose_embedding_failed_is_embedded_for_the_query_that_waited(open_cache: OpenCache) -> None:
    encoder = Encoder(fails_at=1)
    embedder = CachedEmbedder(encoder, open_cache(), batch_size=8)
    with metered(Meter("judge")):
        failed, vectors = await asyncio.gather(
            embedder.embed_documents(["a"]), embedder.embed_documents(["a"]), return_exceptions=True
        )
    assert isinstance(failed, ConnectionError)
    np.testing.assert_array_equal(vectors, expected(["a"]))


async def test_an_index_killed_between_batches_goes_on_where_it_stopped(open_cache: OpenCache) -> None:
    texts = [f"{'word ' * n}end" for n in range(10)]
    dying, resumed = Encoder(fails_at=3), Encoder()
    with metered(Meter("index")) as first, pytest.raises(ConnectionError):
        await CachedEmbedder(dying, open_cache(), batch_size=3).embed_documents(texts)
    with metered(Meter("index")) as second:
        vectors = await CachedEmbedder(resumed, open_cache(), batch_size=3).embed_documents(texts)
    np.testing.assert_array_equal(vectors, expected(texts))
    kept = {text for batch in dying.batches[:2] for text in batch}
    assert sorted(text for batch in resumed.batches for text in batch) == sorted(set(texts) - kept)
    assert (first.embedded_texts, second.embedded_texts, second.cached_texts) == (6, 4, 6)


async def test_texts_of_like_length_go_together_and_progress_counts_up_to_all(
    open_cache: OpenCache,
) -> None:
    encoder, seen = Encoder(), list[tuple[int, int]]()
    texts = ["cached", "long " * 9, "a", "middle of them", "bb"]
    with metered(Meter("index")):
        await CachedEmbedder(Encoder(), open_cache(), 8).embed_documents(["cached"])
        embedder = CachedEmbedder(encoder, open_cache(), 2, lambda *step: seen.append(step))
        vectors = await embedder.embed_documents(texts)
    assert encoder.batches == [["a", "bb"], ["middle of them", "long " * 9]]
    assert seen == [(1, 5), (3, 5), (5, 5)]
    np.testing.assert_array_equal(vectors, expected(texts))


async def test_no_texts_are_no_rows_and_no_call(open_cache: OpenCache) -> None:
    encoder = Encoder()
    with metered(Meter("index")) as meter:
        vectors = await CachedEmbedder(encoder, open_cache(), batch_size=2).embed_documents([])
    assert (len(vectors), encoder.batches, meter.embedded_texts) == (0, [], 0)


# Over HTTP


NAN = Reply(200, b'{"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [NaN]}]}')


async def test_vectors_that_cannot_be_are_an_error_and_not_silently_kept(lab: Lab, open_cache: OpenCache) -> None:
    encoder, cache = lab.connect_embedder(lab.serve(respond=lambda *_: NAN).base_url), open_cache()
    with metered(Meter("index")) as meter, pytest.raises(ValueError, match="a vector of zeros, NaN or infinity"):
        await CachedEmbedder(encoder, cache, batch_size=8).embed_documents(["a", "b"])
    assert not cache.entries(["a", "b"])
    assert meter.embedded_texts == 0


async def test_what_a_server_was_paid_for_vectors_that_are_there_is_counted_and_said_by_whom(lab: Lab) -> None:
    """An index costs what it needs of models, whoever paid: an interruption makes it no cheaper."""
    config = EmbedderConfig(provider="fake", model="fake", batch_size=2)
    texts = ["a", "b b", "c c c", "d d d d", "e e e e e"]
    used = []
    for run, asked in (("killed", texts[:2]), ("whole", texts), ("third", texts)):
        with (
            closing(EmbeddingCache(lab.tmp_path / "e.sqlite", "m", payer=run)) as cache,
            metered(Meter("index")) as meter,
        ):
            await build_embedder(config, lab.call_context, cache).embed_documents(asked)
        used.append(meter)
    killed, whole, third = used
    assert whole.usage == third.usage == {"embedder": Usage(calls=3, input_tokens=15)}
    assert whole.cached_usage == {"killed": killed.usage}
    assert third.cached_usage == {"killed": killed.usage, "whole": whole.paid}
    assert third.paid == {}
    assert [meter.replayed_calls for meter in used] == [0, 0, 0]


async def test_a_cached_text_costs_a_query_once(call_context: CallContext, open_cache: OpenCache) -> None:
    """As one that it computed: an answer costs the same, whichever query came first."""
    embedder = build_embedder(EmbedderConfig(provider="fake", model="fake"), call_context, open_cache())
    meters = []
    for query in ("q1", "q2"):
        with metered(Meter(f"answer/{query}/0/1")) as meter:
            for texts in (["a", "b b"], ["b b", "c c c"], ["a", "c c c"]):
                await embedder.embed_documents(texts)
        meters.append(meter)
    computed, cached = meters
    assert [meter.usage["embedder"].input_tokens for meter in meters] == [6, 6]
    assert (computed.embedded_texts, computed.cached_texts) == (3, 0)
    assert (cached.embedded_texts, cached.cached_texts) == (0, 3)


async def test_judgements_count_a_vector_that_they_share_once(
    call_context: CallContext, open_cache: OpenCache
) -> None:
    embedder = build_embedder(EmbedderConfig(provider="fake", model="fake"), call_context, open_cache())
    total = Meter("judge")
    for _ in range(3):
        with metered_apart("judge", total):
            await embedder.embed_documents(["a", "b b"])
    assert total.usage == total.paid == {"embedder": Usage(calls=1, input_tokens=3)}
    assert (total.embedded_texts, total.cached_texts) == (2, 0)


async def test_a_cache_that_is_filled_from_a_journal_knows_who_paid_and_how_long_it_took(lab: Lab) -> None:
    """Cache and journal need not be on one machine, and the cache may be deleted."""
    encoder = lab.connect_embedder(lab.serve(FakeScript(latency_s=0.2)).base_url)
    used = []
    for name, payer in (("first", ""), ("anew", "later")):
        with closing(EmbeddingCache(lab.tmp_path / f"{name}.sqlite", "m", payer=payer)) as cache:
            with metered(Meter("index")) as meter:
                await CachedEmbedder(encoder, cache, batch_size=8).embed_documents(["a", "b b"])
            entries = cache.entries(["a", "b b"]).values()
            used.append((meter.replayed_calls, usage_of_entries(entries)))
            assert sum(entry.seconds for entry in entries) > 0.1
    paid = {"": Usage(calls=1, input_tokens=3)}
    assert used == [(0, paid), (1, paid)]


# Unit rows

ROWS = arrays.arrays(
    np.float32,
    st.tuples(st.integers(1, 4), st.integers(1, 5)),
    elements=st.floats(-1e6, 1e6, width=32, allow_subnormal=False),
)


@settings(deadline=None)
@given(ROWS)
def test_unit_rows_have_length_one_and_keep_their_direction(vectors: Vectors) -> None:
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    if (lengths == 0).any():
        with pytest.raises(ValueError, match="zeros"):
            unit_rows(vectors)
        return
    unit = unit_rows(vectors)
    assert unit.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1.0, atol=1e-5)
    np.testing.assert_allclose(unit * lengths[:, None], vectors, rtol=1e-4, atol=1e-30)


# What is not installed


def test_a_missing_optional_package_is_one_line(
    monkeypatch: pytest.MonkeyPatch, call_context: CallContext
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    with pytest.raises(
        MissingDependency, match=r"sentence_transformers is not installed: .*pip install '.*\[provider-"
    ):
        SentenceTransformerEncoder("any")
    monkeypatch.setitem(__import__("sys").modules, "openai", None)
    with pytest.raises(
        MissingDependency, match=r"openai is not installed: .*pip install 'rag-bench-harness\[provider-openai\]'"
    ):
        clients.open_client(EmbedderConfig(provider="fake"), call_context)
