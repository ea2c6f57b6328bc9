"""Reads e-mail messages (.eml): the header, the text, and the attachments of kinds that are read."""

from __future__ import annotations

import email
import email.policy
import io
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from email.message import EmailMessage, MIMEPart
from pathlib import PurePosixPath
from typing import BinaryIO

from harness.datasets.folder.file_listing import IgnoreRules, shown_text
from harness.datasets.folder.html import read_html
from harness.datasets.folder.text_cleanup import NoDocument, ReadText, no_heading, one_line

_HEADERS = ("From", "To", "Cc", "Date", "Subject")
_MOST_BYTES = 100_000_000
_MOST_ATTACHMENTS = 100
_DEEPEST = 3
"""Messages attached to messages."""
_TEXTS = ("text/plain", "text/html")

ReadAttachment = Callable[[str, bytes], Sequence[ReadText]]
"""read(extension, content); NoDocument if it gives no text, or is of another kind."""


def read_message(file: BinaryIO, at_work: Callable[[], None], read_attachment: ReadAttachment) -> list[ReadText]:
    """The message, followed by its attachments. NoDocument: not a message, or without text."""
    content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise NoDocument(f"longer than {_MOST_BYTES:,} bytes")
    message = email.message_from_bytes(content, policy=email.policy.default)
    if not any(_header(message, name) for name in _HEADERS):
        raise NoDocument("damaged message file")
    reading = _Reading(at_work, read_attachment)
    first, *others = reading.documents(message, "", 0)
    unread = {"attachments of messages that are not read": reading.unread} if reading.unread else {}
    return [replace(first, left_out={**first.left_out, **unread}), *others]


class _Reading:
    def __init__(self, at_work: Callable[[], None], read_attachment: ReadAttachment) -> None:
        self.unread = 0
        self._at_work = at_work
        self._read_attachment = read_attachment
        self._left = _MOST_ATTACHMENTS
        self._parts: Counter[str] = Counter()

    def documents(self, message: EmailMessage, part: str, depth: int) -> Iterator[ReadText]:
        self._at_work()
        headers = {name: text for name in _HEADERS if (text := _header(message, name))}
        texts, attached = _parts(message)
        names = [_name(one) for one in attached]
        read = [_text(one) for one in texts]
        body = "\n\n".join(one.text.strip() for one in read)
        left_out: Counter[str] = Counter()
        for said in read:
            left_out.update(said.left_out)
        lines = [f"{name}: {text}" for name, text in headers.items()]
        lines += [f"Attachments: {', '.join(names[:_MOST_ATTACHMENTS])}"] if names else []
        subject = headers.get("Subject", "")
        yield ReadText(
            "\n".join([*map(no_heading, lines), "", body.strip(), ""]),
            title=subject,
            part=part,
            metadata={name.lower(): text for name, text in headers.items() if name != "Subject"},
            left_out=dict(left_out),
        )
        for name, one in zip(names, attached, strict=True):
            self._parts[name] += 1
            own = name if self._parts[name] == 1 else f"{name} {self._parts[name]}"
            for document in self._attachment(one, name, f"{part}/{own}".lstrip("/"), depth):
                yield replace(document, title=subject)

    def _attachment(self, attached: MIMEPart, name: str, part: str, depth: int) -> Iterator[ReadText]:
        self._left -= 1
        try:
            if self._left < 0 or depth == _DEEPEST or IgnoreRules.including(()).why_not(name, is_folder=False):
                raise NoDocument("not read")
            content, kind = attached.get_content(), PurePosixPath(name).suffix.lower()
            if not isinstance(content, bytes | EmailMessage):
                content = str(content).encode()
            if kind == ".eml" and isinstance(content, bytes):
                content = email.message_from_bytes(content, policy=email.policy.default)
            if isinstance(content, EmailMessage):
                yield from self.documents(content, part, depth + 1)
                return
            self._at_work()
            for one in self._read_attachment(kind, content):
                yield replace(one, part="#".join(filter(None, (part, one.part))))
        except MemoryError:
            raise
        except Exception:  # It is damaged, or not of a kind that is read.
            self.unread += 1


def _header(message: EmailMessage, name: str) -> str:
    try:
        value = message[name]
        stamp = getattr(value, "datetime", None)
        return stamp.isoformat(" ", "minutes") if isinstance(stamp, datetime) else one_line(str(value or ""))
    except Exception:  # The library fails on some damaged headers.
        return ""


def _name(attached: MIMEPart) -> str:
    try:
        name = attached.get_filename() or ""
        if not name and attached.get_content_type() == "message/rfc822":
            name = f"{_header(attached.get_content(), 'Subject') or 'message'}.eml"
    except Exception:
        name = ""
    return shown_text(one_line(name).replace("\\", "/").rpartition("/")[2]) or "attachment"


def _parts(message: MIMEPart) -> tuple[list[MIMEPart], list[MIMEPart]]:
    """The parts that are its text, and its attachments. Of alternatives, the plain text is preferred."""
    kind = message.get_content_type()
    if message.get_content_maintype() != "multipart":
        is_text = kind in _TEXTS and not message.is_attachment() and not message.get_filename()
        return ([message], []) if is_text else ([], [message])
    if not message.is_multipart():  # Without boundaries, all of it is text.
        message.set_type("text/plain")
        return [message], []
    inner = [_parts(part) for part in message.iter_parts()]
    attached = [one for _, own in inner for one in own]
    if kind != "multipart/alternative":
        return [one for texts, _ in inner for one in texts], attached
    written = [texts for texts, _ in inner if any(_text(one).text.strip() for one in texts)]
    plain = [texts for texts in written if any(one.get_content_type() == _TEXTS[0] for one in texts)]
    return next(iter([*plain, *written]), []), attached


def _text(part: MIMEPart) -> ReadText:
    text = _content(part)
    if part.get_content_type() == _TEXTS[0]:
        return ReadText(no_heading(text))
    try:
        return read_html(io.BytesIO(text.encode("utf-8-sig", "replace")), lambda: None)
    except NoDocument:
        return ReadText("")


def _content(part: MIMEPart) -> str:
    try:
        return str(part.get_content())
    except (LookupError, ValueError):  # A charset that does not exist.
        content = part.get_payload(decode=True)
        return content.decode("utf-8", "replace") if isinstance(content, bytes) else ""
