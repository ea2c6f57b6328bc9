"""What counts as the same answer, and what does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.evaluators.answer import is_right
from harness.evaluators.answer_normalisation import ABSTENTION, abstains, canonical, leading_yes_no, normalise
from harness.evaluators.token_overlap import contains


@pytest.mark.parametrize(
    ("answer", "form"),
    [
        ("  The   New York\tTimes. ", "new york times"),
        ("Sam Bankman-Fried", "sam bankman fried"),
        ("Sam Bankman‑Fried’s", "sam bankman frieds"),
        ("“Google”", "google"),
        ("**Google**", "google"),
        ("`Google`", "google"),
        ("> - Google", "google"),
        ("Will Smith & Jada Pinkett Smith", "will smith and jada pinkett smith"),
        ("ＧＯＯＧＬＥ", "google"),
        ("Goo\u200bgle", "google"),
        ("U.S.", "us"),
        ("1,000,000", "1000000"),
        ("3.5", "3.5"),
        ("-5", "-5"),
        (".5", "0.5"),
        ("-.5", "-0.5"),
        (".5%", "0.5 percent"),
        ("Up .5 points", "up 0.5 points"),
        ("Google.5", "google5"),
        ("10²", "10 2"),
        ("10⁻²", "10 -2"),
        ("10^2", "10 2"),
        ("km²", "km2"),
        ("1½", "1 1 2"),
        ("2020-2021", "2020 2021"),
        ("$5 million", "5 million dollars"),
        ("US$ 5 million", "5 million dollars"),
        ("€3.50", "3.5 euros"),
        ("3.50", "3.5"),
        ("24.0", "24"),
        ("3,5", "3.5"),
        ("-3,50 €", "-3.5 euros"),
        ("€3,5", "3.5 euros"),
        ("12,5 %", "12.5 percent"),
        ("3, 5", "3 5"),
        ("3,5,7", "3 5 7"),
        ("1.200,50 €", "1200.5 euros"),
        ("1.200.000", "1200000"),
        ("1.200", "1.200"),
        ("0.500", "0.5"),
        ("3.50 km", "3.5 km"),
        ("<5", "<5"),
        (">5", ">5"),
        ("07:15", "7 15"),
        ("24 Prozent", "24 percent"),
        ("Python 3.10", "python 3.10"),
        ("24 €", "24 euros"),
        ("24 EUR", "24 euros"),
        ("¥500", "500 yen"),
        ("500円", "500 yen"),
        ("24 Euro.", "24 euros"),
        ("24欧元", "24 euros"),
        ("5 dólares", "5 dollars"),
        ("a 5 dollar bill", "5 dollar bill"),
        ("1\u00a0200", "1200"),
        ("1\u202f200", "1200"),
        ("15,00,000", "1500000"),
        ("5km", "5 km"),
        ("20°C", "20 °c"),
        ("20 °C", "20 °c"),
        ("5th", "5th"),
        ("٢٤", "24"),
        ("٣٫٥", "3.5"),
        ("२४ प्रतिशत", "24 percent"),
        ("3 May 2021", "may 3 2021"),
        ("03/05/2021", "03 05 2021"),
        ("2021-02-31", "2021 02 31"),
        ("Paris\n\nQuestion: Capital of Spain?\nAnswer: Madrid", "paris"),
        ("Paris\n\nQ: Capital of Spain?\nA: Madrid", "paris"),
        ("Paris\n\n### Question 2\nCapital of Spain?", "paris"),
        ("By quarter\nQ1: 5", "by quarter q1 5"),
        ("v1.2.2021", "v1.2.2021"),
        ("Answer: Paris\n\nQuestion: Capital of Spain?\nAnswer: Madrid", "paris"),
        ("Question: Capital of Spain?\nAnswer: Madrid", "madrid"),
        ("£2", "2 pounds"),
        ("$5bn", "5 bn dollars"),
        ("$5 bn", "5 bn dollars"),
        ("$.5m", "0.5 m dollars"),
        ("5bn", "5 bn"),
        ("5m", "5 m"),
        ("$5 millionaires", "5 dollars millionaires"),
        ("5%", "5 percent"),
        ("5 per cent", "5 percent"),
        ("Schindler 's List", "schindlers list"),
        ("Schindler's List", "schindlers list"),
        ("in 's-Gravenhage", "in s gravenhage"),
        ("'s-Gravenhage", "s gravenhage"),
        ("It is n't so", "it isnt so"),
        ("the letter 's' alone", "letter s alone"),
        ("Hepatitis A", "hepatitis a"),
        ("A", "a"),
        ("C++", "c++"),
        ("?!", "?!"),
        ("", ""),
        (" \n ", ""),
    ],
)
def test_the_form_in_which_an_answer_is_compared(answer: str, form: str) -> None:
    assert normalise(answer) == form


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3.5", "35"),
        ("5", "5%"),
        ("5", "$5"),
        ("5", "-5"),
        ("5", ".5"),
        ("-5", "-.5"),
        ("5%", ".5%"),
        ("102", "10²"),
        ("10²", "10⁻²"),
        ("11/2", "1½"),
        ("1.000", "1"),
        ("3.10 beta", "3.1 beta"),
        ("9.30 pm", "9.3 pm"),
        ("§ 3.10", "§ 3.1"),
        ("5'10", "510"),
        (">5", "<5"),
        ("$5bn", "$5m"),
        ("C", "C++"),
        ("Vitamin", "Vitamin A"),
        ("Beyoncé", "Beyonce"),
        ("Google", "Google and Apple"),
        ("Bankman", "Sam Bankman-Fried"),
        ("two", "2"),
        ("Google", "Google\nApple"),
    ],
)
def test_what_merely_looks_alike_is_not_the_same(one: str, other: str) -> None:
    assert canonical(one) != canonical(other)
    assert not is_right(one, [other])


@pytest.mark.parametrize(
    "answer",
    [
        "Answer: Google",
        "answer:Google",
        "**Answer:** Google",
        "Final Answer: **Google**.",
        "The answer is Google.",
        'The answer is: "Google"',
        "Answer: The answer is Google",
        "The articles name several firms.\nAnswer: Google",
        "Answer:\nGoogle",
        "Answer: Apple\nOn second thoughts.\nFinal answer: Google",
        "Answer: Google\nExplanation: both articles say so.",
        "Answer:\nBoth reports name it.\nThe answer is Google.",
        "Answer: Google\nThe answer is supported by passages [1].",
        "The answer is Apple.\nThe answer is Google.",
        "Answer: Apple\nThe final answer is Google.",
        "Answer: Apple\nThe answer is: Google.",
        "Antwort: Google",
        "**Réponse :** Google",
        "Both say so.\n答案：Google",
        "답변: Google\n질문: 다음?\n답변: Apple",
    ],
)
def test_a_label_marks_the_answer(answer: str) -> None:
    assert canonical(answer) == "google"


@pytest.mark.parametrize(("answer", "form"), [("TRUE", "yes"), ("Yes!", "yes"), ("False.", "no"), ("NO", "no")])
def test_true_and_false_are_yes_and_no(answer: str, form: str) -> None:
    assert canonical(answer) == form


@pytest.mark.parametrize(
    "written",
    [
        *("May 3, 2021", "3rd of May, 2021", "2021-05-03", "2021/5/3", "3-May-2021", "3. Mai 2021", "3 mai 2021."),
        *(
            "3 de mayo de 2021",
            "3 de maio de 2021",
            "3 maggio 2021",
            "03.05.2021",
            "2021年5月3日",
            "２０２１年５月３日",
            "2021년 5월 3일",
        ),
        *("3 مايو 2021", "٣ أيار ٢٠٢١", "3 मई 2021", "३ मई २०२१"),
    ],
)
def test_a_full_date_is_the_same_in_every_usual_spelling(written: str) -> None:
    assert is_right(written, ["3 May 2021"])
    assert contains(f"It was on {written}", ["May 3, 2021"])
    assert not is_right(written, ["4 May 2021"])


@pytest.mark.parametrize("other", ["3 May 2021", "5 March 2021", "2021-05-03", "05/03/2021", "May 2021", "May 3"])
def test_a_date_that_may_be_one_of_two_days_is_equal_to_itself_alone(other: str) -> None:
    assert is_right("03/05/2021", ["03/05/2021"])
    assert not is_right("03/05/2021", [other])
    assert is_right("25/12/2021", ["12/25/2021"])


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("It costs $3.50", "$3.50"),
        ("Es sind 3,5 km bis Aro", "3,5 km"),
        ("Er kostet 1.200,50 €.", "1,200.50 euros"),
        ("3.5", "3.50"),
        ("At 7:15.", "07:15"),
    ],
)
def test_an_amount_stands_in_a_sentence_as_it_is_written(answer: str, reference: str) -> None:
    assert contains(answer, [reference])
    assert not contains("version 3.1", ["3.10"])


def test_part_of_a_date_stands_in_it_as_it_is_written() -> None:
    assert contains("It was on 3 May 2021", ["May 2021"])
    assert contains("It was on May 3, 2021", ["May 3"])


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
def test_these_are_no_yes_and_no_no(answer: str) -> None:
    assert not is_right(answer, ["yes"]) and not is_right(answer, ["no"])


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("No, the article reports a loss.", "no"),
        ("Yes. Both say so.", "yes"),
        ("**No**, it does not.", "no"),
        ("Yes - both do.", "yes"),
        ("True, both do.", "yes"),
        ("No\n\nThe first article says otherwise.", "no"),
        ("No, there is no difference.", "no"),
        ("No, the article does not mention it.", "no"),
        ("No article says so.", None),
        ("No one", None),
        ("No-one", None),
        ("No. 5", None),
        ("Yesterday, all was well.", None),
        ("Yes, No", None),
        ("Yes. No.", None),
        ("Yes and no", None),
        ("No, insufficient information.", None),
        ("No. There is not enough information to answer.", None),
        ("The answer could be no.", None),
    ],
)
def test_the_yes_or_no_with_which_an_answer_begins(answer: str, verdict: str | None) -> None:
    assert leading_yes_no(answer) == verdict


def test_a_leading_no_counts_only_where_the_reference_is_yes_or_no() -> None:
    assert is_right("No, the article reports a loss.", ["no"])
    assert is_right("No, the article reports a loss.", ["False"])
    assert not is_right("No, the article reports a loss.", ["Yes"])
    assert not is_right("No, Google.", ["Google"])


@pytest.mark.parametrize(
    "answer",
    [
        "Insufficient information.",
        "insufficient information",
        "Insufficient",
        "Insufficient Information to answer the question.",
        "Insufficient information. The articles do not discuss this.",
        "Answer: Insufficient information",
        "There is insufficient information to determine the answer.",
        "There is not enough information.",
        "There is no information about this in the provided articles.",
        "No information",
        "no information available",
        "No relevant information found.",
        "The provided context is insufficient to answer the question.",
        "The context does not provide enough information.",
        "The articles do not mention this.",
        "Based on the given context, the answer cannot be determined.",
        "It cannot be determined from the articles.",
        "I don't know.",
        "I do not have enough information to answer that.",
        "I'm sorry, but the provided context does not contain the answer.",
        "Unfortunately, I cannot answer this question.",
        "Unable to determine.",
        "Unknown",
        "N/A",
        "Not mentioned in the text.",
        "The answer is not in the articles.",
        "No Answer Present.",
        "No, there is not enough information to say.",
    ],
)
def test_these_abstain(answer: str) -> None:
    assert canonical(answer) == ABSTENTION


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "No",
        "None",
        "No evidence of fraud",
        "No information technology company",
        "I don't know, but probably Google.",
        "Insufficient information. My best guess is Google.",
        "The context does not mention Google, but it names Apple.",
        "Insufficient funds",
        "Information",
        "Unknown Pleasures",
        "The context is about football.",
        "Not Google",
        "He said that there was insufficient information.",
    ],
)
def test_these_do_not_abstain(answer: str) -> None:
    assert not abstains(answer)


def test_no_information_is_an_abstention_and_not_a_no() -> None:
    assert not is_right("No information.", ["No"])
    assert is_right("No information.", ["Insufficient information."])


@given(st.text())
def test_an_answer_that_repeats_the_reference_is_right(text: str) -> None:
    assert is_right(text, [text])


@given(st.text(alphabet="aAtheyYesnoNO .,-'$%5\n", max_size=30))
def test_case_white_space_and_a_final_dot_never_cost_a_right_answer(text: str) -> None:
    assert is_right(f"  {text.upper()} ", [text])
    if text.strip() and text.strip()[-1] not in "-.,'$%\n":
        assert is_right(f"{text.strip()}.", [text])


def test_what_an_answer_says_of_its_answer_takes_nothing_back() -> None:
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
def test_the_form_of_an_amount_is_its_own_form_and_a_leading_point_is_a_zero_s(amount: str) -> None:
    assert normalise(normalise(amount)) == normalise(amount)
    whole, _, part = amount.partition(".")
    if not whole[-1:].isdigit():
        assert normalise(amount) == normalise(f"{whole}0.{part}")
        assert normalise(amount) != normalise(f"{whole}{part}")


@given(st.text(max_size=300))
def test_no_text_breaks_the_comparison(text: str) -> None:
    assert leading_yes_no(text) in {"yes", "no", None}
    assert not is_right(text, ["a reference that nobody would write 7261"])
