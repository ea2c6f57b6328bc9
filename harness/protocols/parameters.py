"""Parameter types for plug-ins that use servers."""

from typing import Annotated

from pydantic import AfterValidator

from harness.core.sanitize import check_url, check_variable, keep_secret


def _plain(url: str) -> str:
    check_url(url)
    return url


def _kept(name: str) -> str:
    check_variable(name)
    keep_secret(name)
    return name


PlainUrl = Annotated[str, AfterValidator(_plain)]
"""A usable URL without user, password, query or key."""
KeyVariable = Annotated[str, AfterValidator(_kept)]
"""Name of an environment variable with a key. Its value is then removed from all records and logs."""
