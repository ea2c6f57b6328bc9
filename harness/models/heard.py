"""What a server said, or how it failed, without the keys that it was given."""

import httpx2

from harness.outside import cleaned, reply_without_keys

_OF_THE_BODY = frozenset({"content-encoding", "content-length", "transfer-encoding"})


def without_key(heard: httpx2.Response | Exception, request: httpx2.Request) -> httpx2.Response | Exception:
    """The same response, read already, or the same error, without any key in body, headers or message.

    An error comes alone: what it was raised from quotes the bytes that were sent or received.
    """
    if isinstance(heard, Exception):
        heard.args = (cleaned(str(heard)),)
        heard.__cause__ = heard.__context__ = None
        return heard
    headers = [(name, cleaned(value)) for name, value in heard.headers.items() if name not in _OF_THE_BODY]
    return httpx2.Response(
        heard.status_code, headers=headers, content=reply_without_keys(heard.content), request=request
    )
