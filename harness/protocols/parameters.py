"""Types for parameters of plug-ins that have to do with servers."""

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
"""A URL that a client can use and that holds no user, password, query or key."""
KeyVariable = Annotated[str, AfterValidator(_kept)]
"""The name of an environment variable that holds a key. Once it is named, its value stands in no record or log."""
