"""What servers refuse, kept for every process of a folder of results, and with the run that it is part of."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.core.errors import StoreError
from harness.store import Dialect, Dialects, Done, RunDir

DIALECT = Dialect(sent_as={"temperature=0.0": None})


def test_what_one_process_learns_the_next_knows(tmp_path: Path) -> None:
    one, other = Dialects.under(tmp_path), Dialects.under(tmp_path)
    one.learn("m at u", lambda dialect: dialect.sending("temperature=0.0", None))
    other.learn("m at u", lambda dialect: dialect.taking(["seed"]))
    other.learn("n at u", lambda dialect: dialect.taking(["seed"]))
    assert Dialects.under(tmp_path).of("m at u") == Dialect(sent_as={"temperature=0.0": None}, taken=("seed",))
    assert one.of("n at u") == Dialect(taken=("seed",))


def test_nothing_is_lost_where_many_learn_at_once(tmp_path: Path) -> None:
    def learn(number: int) -> None:
        Dialects.under(tmp_path).learn("m at u", lambda dialect: dialect.taking([f"p{number:02}"]))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(learn, range(24)))
    assert Dialects.under(tmp_path).of("m at u").taken == tuple(f"p{number:02}" for number in range(24))


def test_a_damaged_file_is_one_line_that_says_the_way_out(tmp_path: Path) -> None:
    Dialects.under(tmp_path).learn("m at u", lambda dialect: dialect.taking(["seed"]))
    path = tmp_path / "dialects.json"
    path.write_text(path.read_text().replace('seed"', 'sead"'))
    with pytest.raises(
        StoreError, match=r"dialects\.json does not match its checksum.*: delete it: rejected parameters"
    ):
        Dialects.under(tmp_path).of("m at u")


def test_a_closed_run_says_where_what_its_model_was_not_sent_was_changed(run: RunDir) -> None:
    run.keep_dialect("generator", DIALECT)
    run.mark_done(Done(n_expected=0, n_ok=0, n_error=0, finished_at="now"))
    assert run.dialects() == {"generator": DIALECT}
    (run.path / "dialects.json").unlink()
    with pytest.raises(StoreError, match=r"dialects\.json"):
        run.done()
