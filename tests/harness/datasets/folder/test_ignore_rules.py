"""What a folder holds besides documents: ignored files, secrets, tools."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.core.errors import ConfigError, DataError
from harness.datasets.folder import FolderCorpus, read_folder

PEM = "-----BEGIN {}-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n-----END {}-----\n"


def put(folder: Path, files: Mapping[str, str]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


def ids(corpus: FolderCorpus) -> list[str]:
    return [document.doc_id for document in corpus.documents]


def why(corpus: FolderCorpus) -> dict[str, str]:
    return {one.path: one.why for one in corpus.skipped if one.why != "hidden"}


IGNORING = {
    "kept.md": "Rye.",
    "draft.md": "Not yet.",
    "drafts/a.md": "Not yet.",
    "notes/private.md": "Not yours.",
    "notes/public.md": "Yours.",
    "notes/more/private.md": "Yours too.",
    ".gitignore": "# what is not ready\n/draft.md\ndrafts/\n!\n",
    "notes/.ignore": "private.md\n!more/private.md\n",
}


def test_a_file_that_an_ignore_file_names_is_no_document(tmp_path: Path) -> None:
    corpus = read_folder(put(tmp_path, IGNORING))
    assert ids(corpus) == ["kept.md", "notes/more/private.md", "notes/public.md"]
    ignored = "named by an ignore file"
    assert why(corpus) == {"draft.md": ignored, "drafts": ignored, "notes/private.md": ignored}
    (note,) = (note for note in corpus.notes if "skipped" in note)
    assert f"{ignored} (3)" in note
    assert "draft" not in note


@pytest.mark.parametrize(
    ("patterns", "added"),
    [
        (["drafts/"], ["drafts/a.md"]),
        (["*.md", "!private.md"], ["draft.md", "drafts/a.md"]),
        (["notes/private.md", "/draft.md"], ["draft.md", "notes/private.md"]),
    ],
)
def test_an_included_file_is_read_though_an_ignore_file_names_it(
    tmp_path: Path, patterns: list[str], added: list[str]
) -> None:
    folder = put(tmp_path, IGNORING)
    before = ids(read_folder(folder))
    assert ids(read_folder(folder, include=patterns)) == sorted([*before, *added])


SECRETS = {
    ".env": "TOKEN=1",
    ".env.local": "TOKEN=1",
    "id_rsa": PEM.format("OPENSSH PRIVATE KEY", "OPENSSH PRIVATE KEY"),
    "deep/ID_ED25519.txt": "key",
    "server.pem": "cert",
    "server.key": "key",
    "store.p12": "x",
    "secrets.md": "TOKEN=1",
    "credentials.jsonl": '{"text": "x"}',
    "innocent.txt": "See:\n" + PEM.format("RSA PRIVATE KEY", "RSA PRIVATE KEY"),
}


def test_a_file_that_looks_like_a_secret_is_no_document_unless_it_is_included(tmp_path: Path) -> None:
    about = "A key begins with\n-----BEGIN PRIVATE KEY-----\nand ends so. The id_card of a secretary.\n"
    folder = put(tmp_path, {**SECRETS, "about.md": about, "id_card.md": "Ada."})
    corpus = read_folder(folder)
    assert ids(corpus) == ["about.md", "id_card.md"]
    assert why(corpus) == dict.fromkeys(SECRETS, "looks like a secret")
    included = read_folder(folder, include=[".env", "*.pem", "innocent.txt", "credentials.jsonl"])
    assert {*ids(included)} - {*ids(corpus)} == {".env", "credentials.jsonl#1", "innocent.txt", "server.pem"}


def test_folders_of_tools_are_no_documents_unless_a_file_there_is_asked_for(tmp_path: Path) -> None:
    tools = {
        f"{folder}/README.md": "A package." for folder in ("node_modules/x", ".venv/lib", ".git", "__pycache__")
    }
    folder = put(tmp_path, {**tools, "a.md": "Rye."})
    assert ids(read_folder(folder)) == ["a.md"]
    assert ids(read_folder(folder, include=["node_modules/x/README.md"])) == ["a.md", "node_modules/x/README.md"]


def test_no_pattern_includes_files_outside_of_the_folder(tmp_path: Path) -> None:
    put(tmp_path, {"outside/secret.txt": "mine", "outside/.gitignore": "a.md\n"})
    folder = put(tmp_path / "in", {"a.md": "Rye."})
    (folder / "linked").symlink_to(tmp_path / "outside")
    (folder / "secret.txt").symlink_to(tmp_path / "outside" / "secret.txt")
    (folder / ".gitignore").symlink_to(tmp_path / "outside" / ".gitignore")
    corpus = read_folder(folder, include=["*", "linked/", "../outside/secret.txt"])
    assert ids(corpus) == ["a.md"]


def test_an_invalid_or_slow_pattern_is_refused(tmp_path: Path) -> None:
    for pattern in ("!", "a" + "\\"):
        with pytest.raises(ConfigError):
            read_folder(put(tmp_path, {"a.md": "Rye."}), include=[pattern])
    with pytest.raises(DataError, match="line 1"):
        read_folder(put(tmp_path, {"a.md": "Rye.", ".gitignore": "*a" * 40 + "b\n"}))
