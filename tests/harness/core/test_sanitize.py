"""What is left of text from outside: no key in any form, nothing that a terminal obeys, and every other letter."""

import base64
import json
from urllib.parse import quote

import pytest

from harness.core.errors import ConfigError
from harness.core.languages import UNKNOWN_LANGUAGE, languages_of
from harness.core.sanitize import (
    cleaned,
    keep_secret,
    path_part,
    reply_without_keys,
    visible,
    without_key_forms,
    without_keys,
)
from harness.models.llama_server import ServerAccess

KEY = "sk-Ab3+/=\"x'\\9?Zz"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_OF_MINE", KEY)
    keep_secret("MODEL_OF_MINE")


FORMS = [
    KEY, KEY.upper(), quote(KEY), quote(KEY, safe=""), quote(KEY, safe="").lower(), json.dumps(KEY),
    json.dumps(json.dumps(KEY)), repr(KEY.encode()), KEY.replace('"', "&quot;").replace("'", "&#x27;"),
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_key_is_found_as_servers_and_libraries_write_it(form: str) -> None:
    assert "***" in without_keys(f"wrong key: {form}.")
    assert "Ab3" not in without_keys(f"wrong key: {form}.").replace("AB3", "Ab3")
    assert b"***" in reply_without_keys(f"wrong key: {form}.".encode())


@pytest.mark.parametrize("user", ["", "me:", "you:"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_key_is_found_in_basic_authentication_whoever_the_user_is(user: str, encode: object) -> None:
    assert callable(encode)
    sent = encode(f"{user}{KEY}".encode()).decode()
    assert "***" in without_keys(f"Authorization: Basic {sent}")


def test_a_key_whose_letters_json_spells_as_codes_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_OF_MINE", "sk-0123456789abc")
    coded = "".join(f"\\u{ord(char):04x}" for char in "sk-0123456789abc")
    assert reply_without_keys(f'{{"content": "{coded}"}}'.encode()) == b'{"content": "***"}'
    harmless = b'{"content": "\\u0041 \\u00e9"}'
    assert reply_without_keys(harmless) == harmless


def test_a_password_of_something_else_is_found_by_its_variable_except_in_replies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NEO4J_PASSWORD", "correcthorse")
    monkeypatch.setenv("HF_TOKEN", "hf_0123456789")
    assert without_keys("no correcthorse, no hf_0123456789") == "no ***, no ***"
    assert reply_without_keys(b'{"content": "correcthorse"}') == b'{"content": "correcthorse"}'


@pytest.mark.parametrize(
    "key",
    [
        "sk-" + "aB3dE6gH" * 6,
        "sk-ant-api03-Qf3_k9-ZlXw0aB3dE6gH1jK4mN7pQ_r-stUVwx",
        "sk-or-v1-" + "0f1e2d3c" * 8,
        "sk_live_51aB3dE6gH1jK4mN7pQrs",
        "hf_AbCdEfGh1jKlMnOpQrStUvWxYz12345678",
        "ghp_" + "a1B2" * 9,
        "AKIAIOSFODNN7EXAMPLE",
        "AIza" + "a1B2c" * 7,
        "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4",
    ],
)
def test_what_looks_like_a_key_is_masked_whoever_owns_it(key: str) -> None:
    assert without_key_forms(f'{{"key": "{key}"}} failed') == '{"key": "***"} failed'
    assert without_key_forms("Authorization: Bearer 0123456789abcdef.x") == "Authorization: Bearer ***"
    assert without_key_forms("http://me:pass@host/v1") == "http://***@host/v1"


@pytest.mark.parametrize(
    "text",
    [
        "sk-learn-estimators-2024-long-name-of-things", "task-1234567890123456789012",
        "demo--naive--0123456789abcdef",
        "risk_assessment_2024_of_the_company", "the bearer of good news in 2024", "hf_hub_download_of_files",
        "http://127.0.0.1:8000/v1 at 12:30@noon", "sha256:" + "0f" * 32, "ASIAPACIFICREGIONALBANK",
    ],
)  # fmt: skip
def test_names_digests_and_addresses_do_not_look_like_keys(text: str) -> None:
    assert without_key_forms(text) == text


def test_a_placeholder_a_path_and_an_unset_variable_take_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "none")
    monkeypatch.setenv("TLS_KEY", "/home/me/tls.pem")
    keep_secret("NOT_SET", None)
    assert without_keys("none of /home/me/tls.pem") == "none of /home/me/tls.pem"


def test_the_key_of_a_server_that_was_started_here_is_one() -> None:
    ServerAccess(base_url="http://127.0.0.1:1/v1", api_key="made-for-this-start-0123")
    assert cleaned("it says made-for-this-start-0123") == "it says ***"


def test_control_characters_are_escaped_and_letters_of_all_languages_stay() -> None:
    hostile = "a\x1b[31m\x9b2J\x07\r\u202eb\u200b\u2028\udcffc\x00"
    assert visible(hostile) == r"a\x1b[31m\x9b2J\x07\r\u202eb\u200b\u2028\udcffc\x00"
    text = "Ångström — 東京\n\tभाषा 😀 \u00a0."
    assert cleaned(text) == text


def test_an_error_holds_neither_a_key_nor_an_escape_in_any_part() -> None:
    error = ConfigError(f"\x1b]0;{KEY}\x07", f"not\n{KEY}")
    for said in (str(error), error.what, error.fix, repr(error), *error.args):
        assert KEY not in said
        assert "\x1b" not in said


@pytest.mark.parametrize(
    ("name", "part"),
    [("My Handbook (v2)", "My-Handbook-v2"), ("Übersicht--2", "Ubersicht-2"), ("../x", "x"), ("東京", "")],
)
def test_a_name_as_part_of_a_folder_name_has_letters_and_digits_only(name: str, part: str) -> None:
    assert path_part(name) == part
    assert len(path_part("a" * 300)) == 60


# The languages of documents.


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("English", "The report describes the results of the company and its plans for the year."),
        ("German", "Der Bericht beschreibt die Ergebnisse des Unternehmens und seine Pläne im Jahr."),
        ("Spanish", "El informe describe los resultados de la empresa y sus planes para el próximo año."),
        ("Dutch", "Het verslag beschrijft de resultaten van het bedrijf en de plannen voor het jaar."),
        ("Polish", "Raport opisuje wyniki firmy i jej plany na rok, które są w trakcie realizacji."),
        ("Japanese", "Kubernetesのクラスタを作成するにはkubectlを使用します。"),
        ("Chinese", "年度报告描述了公司的业绩和来年的计划。"),
        ("Korean", "연례 보고서는 회사의 결과를 설명합니다."),
        ("Cyrillic script", "Отчет описывает результаты компании."),
        (UNKNOWN_LANGUAGE, "Item: Oak; Price: 12; Site: Köln"),
        (UNKNOWN_LANGUAGE, "17 + 4"),
    ],
)
def test_the_language_of_a_text_is_recognised_by_its_script_or_its_words(language: str, text: str) -> None:
    assert languages_of([text]) == {language: 1}
    assert languages_of([text] * 2000) == {language: 2000}, "counted from a sample"
