"""What counts as the same answer, and what does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import rows_of

from harness.evaluators.answer import is_right
from harness.evaluators.answer_normalisation import (
    abstains,
    canonical,
    leading_yes_no,
    normalise,
    without_citations,
)
from harness.evaluators.token_overlap import contains


def test_the_form_in_which_an_answer_is_compared() -> None:
    rows = rows_of(__file__, "normal_forms.csv")
    assert len(rows) > 80
    assert [row for row in rows if normalise(row["answer"]) != row["form"]] == []


def test_answers_that_only_look_alike_differ() -> None:
    rows = rows_of(__file__, "different_answers.csv")
    assert len(rows) > 20
    assert [row for row in rows if canonical(row["one"]) == canonical(row["other"])] == []
    assert [row for row in rows if is_right(row["one"], [row["other"]])] == []


def test_a_label_marks_the_answer_and_true_and_false_are_yes_and_no() -> None:
    rows = rows_of(__file__, "labelled_answers.csv")
    assert len(rows) > 20
    assert [row for row in rows if canonical(row["answer"]) != row["form"]] == []


@pytest.mark.parametrize(
    "written",
    [
        *("May 3, 2021", "3rd of May, 2021", "2021-05-03", "2021/5/3", "3-May-2021", "3. Mai 2021", "3 mai 2021."),
        *("3 de mayo de 2021", "3 de maio de 2021", "3 maggio 2021", "03.05.2021", "2021年5月3日"),
        *("２０２１年５月３日", "2021년 5월 3일", "3 مايو 2021", "٣ أيار ٢٠٢١", "3 मई 2021", "३ मई २०२१"),
    ],
)
def test_a_full_date_is_the_same_in_every_usual_spelling(written: str) -> None:
    assert is_right(written, ["3 May 2021"])
    assert contains(f"It was on {written}", ["May 3, 2021"])
    assert not is_right(written, ["4 May 2021"])


def test_a_date_that_may_be_one_of_two_days_is_equal_to_itself() -> None:
    assert is_right("03/05/2021", ["03/05/2021"])
    assert is_right("25/12/2021", ["12/25/2021"])


YES = ["Ja", "Oui.", "Sí", "Sim", "Sì", "是的。", "はい", "네", "نعم", "हाँ", "जी हाँ"]
NO = ["Nein!", "Non", "No", "Não", "不是", "いいえ。", "아니요", "لا", "नहीं"]
REST = {
    "Ja": ", beide.",
    "是的。": "，两篇都说了。",
    "はい": "、そうです。",
    "네": ", 맞습니다.",
    "نعم": "، هذا صحيح.",
    "हाँ": "। दोनों।",
}


@pytest.mark.parametrize(("answers", "verdict", "other"), [(YES, "yes", "no"), (NO, "no", "yes")])
def test_yes_and_no_are_read_in_eleven_languages(answers: list[str], verdict: str, other: str) -> None:
    for answer in answers:
        assert is_right(answer, [verdict]) and is_right(verdict, [answer]) and not is_right(answer, [other])
        assert is_right(answer.rstrip("。") + REST.get(answer, ", 2021."), [verdict]), answer


@pytest.mark.parametrize("answer", ["Nein sagte niemand", "Ja, nein", "Si", "Nonsense", "不知道", "लाल", "Jason"])
def test_other_words_are_neither_yes_nor_no(answer: str) -> None:
    assert not is_right(answer, ["yes"]) and not is_right(answer, ["no"])


def test_the_yes_or_no_with_which_an_answer_begins() -> None:
    rows = rows_of(__file__, "leading_yes_and_no.csv")
    assert len(rows) > 15
    assert [row for row in rows if (leading_yes_no(row["answer"]) or "") != row["verdict"]] == []


def test_a_leading_no_counts_only_if_the_reference_is_yes_or_no() -> None:
    answer = "No, the article reports a loss."
    assert [is_right(answer, [one]) for one in ("no", "False", "Yes")] == [True, True, False]
    assert not is_right("No, Google.", ["Google"])


@given(st.text())
def test_an_answer_that_repeats_the_reference_is_right(text: str) -> None:
    assert is_right(text, [text])


@given(st.text(alphabet="aAtheyYesnoNO .,-'$%5\n", max_size=30))
def test_case_white_space_and_a_final_dot_never_cost_a_right_answer(text: str) -> None:
    assert is_right(f"  {text.upper()} ", [text])
    if text.strip() and text.strip()[-1] not in "-.,'$%\n":
        assert is_right(f"{text.strip()}.", [text])


def test_a_remark_about_the_answer_withdraws_nothing() -> None:
    answer = "Answer: Google\nThe answer is not in passage 2, but in passage 1."
    assert not abstains(answer)
    assert is_right(answer, ["Google"])


AMOUNTS = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-", "$", "-$", "US$ ", "€", "gbp "]),
    st.sampled_from(["", "0", "12", "1,000"]),
    st.integers(1, 999).map(".{}".format),
    st.sampled_from(["", "%", " per cent", "bn", " million", "m"]),
)


@given(AMOUNTS)
def test_the_form_of_an_amount_is_stable_and_a_leading_point_means_zero(amount: str) -> None:
    assert normalise(normalise(amount)) == normalise(amount)
    whole, _, part = amount.partition(".")
    if not whole[-1:].isdigit():
        assert normalise(amount) == normalise(f"{whole}0.{part}")
        assert normalise(amount) != normalise(f"{whole}{part}")


@given(st.text(max_size=300))
def test_no_text_breaks_the_comparison(text: str) -> None:
    assert leading_yes_no(text) in {"yes", "no", None}
    assert not is_right(text, ["a reference that nobody would write 7261"])


def test_citations_are_no_part_of_an_answer_and_other_brackets_stay() -> None:
    """Every cited answer of the table is Google."""
    table = rows_of(__file__, "citations.csv")
    cited, others = ([row["answer"] for row in table if row["is_cited"] == kind] for kind in ("yes", "no"))
    assert (len(cited) > 20, len(others) > 10) == (True, True)
    assert [one for one in cited if normalise(one) != "google"] == []
    assert [one for one in cited if not is_right(one, ["Google"]) or is_right(one, ["Apple"])] == []
    assert [one for one in others if without_citations(one) != one] == []
    assert leading_yes_no("Yes [1], both say so [2].") == "yes"
    assert is_right("No [1][2].", ["No"])
    assert is_right("Apollo 11 [2]", ["Apollo 11"])
    assert not is_right("Apollo [11]", ["Apollo 11"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", [" ", "[1", "[1,", "(see ", "sources: ", "in ", "\u00b9 ", "[1] ", "[1 and 2 and "]
)
def test_unclosed_brackets_take_bounded_time(unit: str) -> None:
    assert without_citations(unit * 20_000 + "x").endswith("x")
