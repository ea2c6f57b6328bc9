import pytest

from harness.core.errors import MissingDependency
from systems.lightrag import library


@pytest.mark.parametrize("installed", ["1.4.9", "1.6.0", "2.0"])
def test_another_version_is_one_line_before_anything_is_paid(
    installed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "version", lambda _: installed)
    with pytest.raises(MissingDependency, match=f"{installed} is installed"):
        library.require()


def test_a_package_that_is_not_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "find_spec", lambda name: None if name == "nano_vectordb" else object())
    with pytest.raises(MissingDependency, match="not installed: nano_vectordb"):
        library.require()


def test_another_package_of_that_name_is_told_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "find_spec", lambda name: None if name == "lightrag.operate" else object())
    with pytest.raises(MissingDependency, match="another package called lightrag"):
        library.require()
