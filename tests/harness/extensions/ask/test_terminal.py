"""An answer on a terminal: marked evidence, sources, and nothing that is obeyed."""

import io

from harness.cli.sentence_highlighting import highlighted, in_its_document, place_in, places_of
from harness.core.records import Context, Cost, Document, Failure, Prediction, RunRecord, Span, Usage
from harness.display.text_format import SafeConsole
from harness.extensions.ask.output import print_asked
from harness.extensions.ask.session import Asked

SENTENCE = "The bridge was closed in 2031."
PASSAGE = Context(text="It was dry. The bridge was\nclosed in 2031. Nobody came.", doc_ids=("d",), score=0.5)
PROOF = Context(
    text=SENTENCE, doc_ids=("d",), kind="sentence", score=0.25, span=Span(doc_id="d", start=12, end=42)
)


def asked(prediction: Prediction | None, failure: Failure | None = None) -> Asked:
    used = {"generator": Usage(calls=1, input_tokens=1200, output_tokens=3)}
    record = RunRecord(
        query_id="asked-1",
        repeat=0,
        status="ok" if prediction else "error",
        prediction=prediction,
        failure=failure,
        cost=Cost(wall_s=1.5, usage=used),
        attempt=1,
        started_at="2026-11-24T00:00:00+00:00",
    )
    document = Document(doc_id="d", text="", title="A title", metadata={"published_at": "November 12, 2023"})
    return Asked("a-run", "When?", record, None, (), {"d": document}, ())


def printed(one: Asked, *, texts: bool = False) -> str:
    written = io.StringIO()
    console = SafeConsole(file=written, width=100)
    print_asked(console, one, texts=texts)
    return written.getvalue()


def test_evidence_is_marked_where_it_stands_and_said_by_number() -> None:
    elsewhere = Context(text=SENTENCE, doc_ids=("other",))
    places = places_of([PROOF], PASSAGE)
    assert {nth: PASSAGE.text[start:end] for nth, (start, end) in places.items()} == {
        1: "The bridge was\nclosed in 2031."
    }
    assert places_of([PROOF], elsewhere) == {}
    assert [(span.start, span.end) for span in highlighted(PASSAGE.text, places).spans] == [places[1]]
    shown = printed(asked(Prediction(answer="2031", contexts=(PASSAGE, elsewhere), evidence=(PROOF,))))
    assert "context 1 (passage: d, holds evidence 1)" in shown
    assert "evidence 1 (score 0.250)" in shown
    assert "d, characters 12-42" in shown
    assert "context 2 (" not in shown


def test_a_sentence_of_evidence_is_shown_within_its_document_to_the_letter() -> None:
    text = "x" * 500 + " " + SENTENCE + " Nobody came."
    sentence = PROOF.model_copy(update={"span": Span(doc_id="d", start=501, end=501 + len(SENTENCE))})
    shown = in_its_document(sentence, {"d": Document(doc_id="d", text=text)})
    (mark,) = shown.spans
    assert shown.plain[mark.start : mark.end] == SENTENCE
    assert shown.plain.startswith("…xxx")
    assert shown.plain.endswith(" Nobody came.")
    assert in_its_document(sentence, {"d": Document(doc_id="d", text="another text")}).plain == SENTENCE


def test_sources_are_named_with_their_dates_and_where_they_were_used() -> None:
    shown = printed(asked(Prediction(answer="2031", contexts=(PASSAGE,), evidence=(PROOF,))), texts=True)
    assert "d (context 1, evidence 1)" in shown
    assert "A title | November 12, 2023" in shown
    assert "1.50 s, 1,203 tokens, no price known" in shown


def test_a_text_that_no_sentence_stands_in_is_not_marked() -> None:
    assert place_in("Nothing here.", SENTENCE) is None
    assert place_in("Nothing here.", "  ") is None


def test_what_a_model_or_a_document_says_steers_no_terminal() -> None:
    hostile = "\x1b[2J\x1b]0;owned\x07[bold]x[/bold]"
    context = Context(text=hostile, doc_ids=(hostile,), score=1.0)
    prediction = Prediction(answer=hostile, contexts=(context,), evidence=(context,))
    for one in (asked(prediction), asked(None, Failure(kind=hostile, message=hostile))):
        shown = printed(one, texts=True)
        assert "\x1b" not in shown
        assert "\x07" not in shown
        assert "[bold]" in shown
