"""What a model client is made of."""

import subprocess
import sys
from pathlib import Path

import pytest

ASKED = """
import asyncio, sys
from contextlib import closing
from pathlib import Path
from harness.config import GeneratorConfig
from harness.models.clients import build_chat
from harness.models.metering import Meter, metered
from harness.models.providers import resolve_generator
from harness.models.transport import CallContext
from harness.protocols import Message
from harness.store import Journal

path = Path(sys.argv[1]) / "calls.sqlite"
with closing(Journal(path)) as journal, metered(Meter("q")):
    chat = build_chat(resolve_generator(GeneratorConfig(provider="fake")), CallContext(journal))
    assert asyncio.run(chat.complete([Message("user", "Is it so?")]))
print(*sys.modules)
"""


@pytest.mark.slow
def test_a_model_is_asked_without_the_hundreds_of_modules_that_nobody_asks_for(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", ASKED, tmp_path], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "openai" in loaded
    assert [name for name in loaded if name.startswith("openai.resources")] == []
