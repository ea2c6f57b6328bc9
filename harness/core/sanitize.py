"""Sanitizes text from outside (servers, libraries, files of others): removes keys and escapes control characters.
It is applied where such text enters: replies (`models/reply_parsing`), errors (`HarnessError`), failures and
worker logs. Consoles escape everything they print.

A key is the value of an environment variable that a model role names (`keep_secret`), or of one whose name
indicates a secret (`NEO4J_PASSWORD`, `HF_TOKEN`).
"""

import base64
import html
import json
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import AnyStr
from urllib.parse import quote, quote_plus, unquote, urlsplit

MASK = "***"
_SHORTEST = 8
"""Shortest key in characters. Shorter values are placeholders, and would match ordinary words."""
_SAYS_SECRET = re.compile(r"(key|token|secret|password|passwd|passphrase|credentials?)(_?\d+)?$", re.IGNORECASE)
_IN_CODE = re.compile(rb"\\u00(2[b-f]|[3467][0-9a-f]|5[0-9abdef])", re.IGNORECASE)
OWN_PLACE = "put the key into an environment variable and name the variable in api_key_env"
_HOLDS_KEY = re.compile(
    r"/(sk|pk|rk|hf|gsk|xai|ghp|key|token)[-_=][\w.~+=-]{8,}"
    # Long, with upper and lower case and digits: ids of accounts or deployments use one case.
    r"|/(?=[^/]*[a-z])(?=[^/]*[A-Z])(?=[^/]*\d)[\w.~+=-]{20,}(/|$)"
)
"""A path segment that looks like a key."""
_KEY_FORMS = re.compile(
    # A long run of letters and digits, so that names such as sk-learn-estimators-2024 stay. Bounded, so that no
    # text takes quadratic time.
    r"(?<![A-Za-z0-9])(?:"
    r"[spr]k[-_](?=[\w-]{0,99}?(?=[A-Za-z]{0,15}\d)[A-Za-z0-9]{12})[\w-]{20,}"
    r"|(?:hf_|gsk_|gh[oprsu]_|r8_|xai-|pplx-|nvapi-|glpat-|github_pat_)(?=[\w-]{0,99}\d)[\w-]{20,}"
    r"|A[KS]IA(?=[A-Z]*\d)[A-Z0-9]{16}(?![A-Za-z0-9])"
    r"|AIza[\w-]{35}"
    r"|eyJ[\w-]{10,2000}[.]eyJ[\w-]{10,2000}[.][\w-]{10,})"
    r"|(?<=[Bb]earer )(?=\S{0,99}\d)[\w.~+/=-]{16,}"
    r"|(?<=://)[^\s/@:'\"]{1,200}:[^\s/@'\"]{1,200}(?=@)",
    re.ASCII,
)
"""What looks like a key of OpenAI, Anthropic, Hugging Face, GitHub, AWS, Google or a similar service, a signed
token, or user and password in a URL.
"""
_names: set[str] = set()
_made: set[str] = set()


def check_url(url: str | None) -> str | None:
    """Return a base_url that is usable and contains no secret; ValueError otherwise."""
    if url is None:
        return None
    if set(url) & {"@", "?", "#", ";", "\\"}:
        raise ValueError(f"must not contain a user, password, query or fragment: {OWN_PLACE}")
    if _HOLDS_KEY.search(unquote(url)) or without_keys(url) != url:
        raise ValueError(f"must not contain a key in its path: {OWN_PLACE}")
    try:
        parts = urlsplit(url)
        # Encoded as clients do: empty or too long labels are not a valid host.
        host = (parts.hostname or "").encode("idna")
        usable = parts.scheme in {"http", "https"} and bool(host) and parts.port != 0 and url.isprintable()
    except ValueError:
        usable = False
    if not usable:
        raise ValueError("must be a URL such as http://127.0.0.1:8000/v1")
    return url


def check_variable(name: str | None) -> str | None:
    """Return the name of an environment variable; ValueError for anything else, such as the key itself."""
    if name is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError("must be the name of an environment variable, such as OPENAI_API_KEY, never the key")
    return name


def keep_secret(*names: str | None) -> None:
    """Remove the values of these environment variables from all text from outside, from now on."""
    _names.update(filter(None, names))


def keep_made(key: str) -> None:
    """The same for a key that was generated for a local server."""
    _made.add(key)


def secret_names() -> tuple[str, ...]:
    """The names given to `keep_secret`, to pass them to another process."""
    return tuple(sorted(_names))


def without_keys(text: str) -> str:
    """The text without keys in any encoding: plain, in a URL, in JSON, HTML or base64."""
    named = (name for name in os.environ if says_secret(name) and not os.environ[name].startswith("/"))
    return _masked(text, _forms(_values({*_names, *named})), MASK)


def without_key_forms(text: str) -> str:
    """The text without what looks like a key, whoever owns it. For settings and errors: data may quote some."""
    return _KEY_FORMS.sub(MASK, text)


def reply_without_keys(content: bytes) -> bytes:
    """A model's reply without the keys of model roles. Another password may be an ordinary word of an answer."""
    forms, mask = [os.fsencode(form) for form in _forms(_values(_names))], MASK.encode()
    # JSON may encode a letter as \u0073. If that hides a key, the decoded form is used.
    spelled = _IN_CODE.sub(lambda code: bytes([int(code[1], 16)]), content) if b"\\u00" in content else content
    read = _masked(spelled, forms, mask)
    return _masked(content, forms, mask) if read == spelled else read


def path_part(name: str) -> str:
    """A name as part of a folder name: at most 60 ASCII letters, digits, points and lines. It may become empty."""
    ascii_only = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9._]+", "-", ascii_only)[:60].strip("-.")


def visible(text: str) -> str:
    r"""The text with invisible and direction-changing characters escaped (`\x1b`), except line breaks and tabs."""
    text = text.replace("\r\n", "\n")
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(
        char.encode("unicode_escape").decode() if is_hidden(char) and char not in "\n\t" else char for char in text
    )


def cleaned(text: str) -> str:
    """The text without keys and with control characters escaped."""
    return visible(without_keys(text))


def is_hidden(char: str) -> bool:
    """Whether a character is a control, invisible or direction-changing one, or a Unicode line separator."""
    return unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@lru_cache(maxsize=4096)
def says_secret(name: str) -> bool:
    """Whether the name of a variable or field says that its value is a key or a password."""
    return _SAYS_SECRET.search(name) is not None


def _values(names: Iterable[str]) -> frozenset[str]:
    values = (os.environ.get(name, "").strip() for name in names)
    return frozenset(value for value in (*values, *_made) if len(value) >= _SHORTEST)


@lru_cache(maxsize=8)
def _forms(keys: frozenset[str]) -> tuple[str, ...]:
    """All encodings of some keys in lower case, the longest first."""
    plain = {form for key in keys for form in _written(key)}
    # Escaped once more: JSON that quotes JSON, a library's message that quotes bytes.
    escaped = {again for form in plain for again in (form, _in_json(form), repr(form)[1:-1])}
    written = {form.lower() for form in escaped | set(map(_in_json, escaped)) if len(form) >= _SHORTEST}
    return tuple(sorted(written, key=len, reverse=True))


def _masked(content: AnyStr, forms: Iterable[AnyStr], mask: AnyStr) -> AnyStr:
    """Mask the keys, ignoring case. Bytes are not decoded, so that everything else is unchanged."""
    lower = content.lower()
    for form in forms:
        if form in lower:
            content = re.sub(re.escape(form), mask, content, flags=re.IGNORECASE)
    return content


def _written(key: str) -> Iterator[str]:
    yield from (key, _in_json(key), _in_json(key).replace("/", "\\/"), html.escape(key))
    octets = os.fsencode(key)
    yield from (quote(octets), quote(octets, safe=""), quote_plus(octets))
    for before in range(3):
        # Neighbouring bytes change the letters at both ends of the key in base64, as in `user:key`; use the
        # middle.
        padded = base64.b64encode(b"\0" * before + octets).decode()
        middle = padded[(before * 8 + 5) // 6 : (before + len(octets)) * 8 // 6]
        yield from (middle, middle.replace("+", "-").replace("/", "_"))


def _in_json(text: str) -> str:
    return json.dumps(text)[1:-1]
