"""resources.csv as crashes and resumed runs leave it."""

from pathlib import Path

import pytest

from harness.statistics.resource_usage import Resources, load_resources

HEADER = (
    "time_s,phase,machine_cpu_percent,machine_ram_bytes,system_cpu_percent,system_rss_bytes,"
    "server_cpu_percent,server_rss_bytes,database_cpu_percent,database_rss_bytes\n"
)


def load(tmp_path: Path, body: str) -> Resources:
    path = tmp_path / "resources.csv"
    path.write_text(HEADER + body)
    return load_resources(path)


def line(time_s: float, phase: str = "answer", rss: int = 100) -> str:
    return f"{time_s:.3f},{phase},10.0,4000,50.0,{rss},,,,\n"


def test_what_was_not_measured_is_unknown_and_not_zero(tmp_path: Path) -> None:
    resources = load(tmp_path, line(1000) + line(1002, rss=300))
    assert resources.values("system_rss_bytes", "answer") == [100.0, 300.0]
    assert resources.values("server_rss_bytes", "answer") == []
    assert resources.values("system_rss_bytes", "index") == []


@pytest.mark.parametrize(
    "torn",
    [
        "10",
        "1004.000,answer,1",
        "1004.000,answer,10.0,4000,50.0,1,,,,," + line(1006),
        "17" + line(1_763_632_800),
        "nan,answer,10.0,4000,50.0,100,,,,\n",
        "1004.000,answer,inf,4000,50.0,100,,,,\n",
        "1004.000,ans,10.0,4000,50.0,100,,,,\n",
        '1004.000,"answer,10.0',
        "\x00\x00\x00",
    ],
)
def test_a_torn_line_is_passed_over_and_counted(tmp_path: Path, torn: str) -> None:
    resources = load(tmp_path, line(1000) + torn)
    assert [sample.time_s for sample in resources.samples] == [1000.0]
    assert resources.n_damaged == 1


def test_a_line_appended_to_a_torn_one_is_lost_with_it_and_nothing_else_is(tmp_path: Path) -> None:
    resources = load(tmp_path, line(1000) + "1002.0,ans" + line(1004) + line(1006))
    assert [sample.time_s for sample in resources.samples] == [1000.0, 1006.0]
    assert resources.n_damaged == 1


def test_a_header_without_samples_is_no_samples(tmp_path: Path) -> None:
    resources = load(tmp_path, "")
    assert resources == Resources((), 0)
    assert resources.sessions() == []


def test_a_resumed_run_is_two_sessions(tmp_path: Path) -> None:
    times = [1000, 1002, 1004, 5000, 5002]
    sessions = load(tmp_path, "".join(line(time_s) for time_s in times)).sessions()
    assert [[sample.time_s for sample in session] for session in sessions] == [[1000, 1002, 1004], [5000, 5002]]


def test_a_clock_that_goes_back_begins_a_new_session(tmp_path: Path) -> None:
    times = [1000, 1002, 900, 902]
    assert len(load(tmp_path, "".join(line(time_s) for time_s in times)).sessions()) == 2


def test_a_slow_interval_is_not_taken_for_an_interruption(tmp_path: Path) -> None:
    times = [1000, 1060, 1120, 1180]
    assert len(load(tmp_path, "".join(line(time_s) for time_s in times)).sessions()) == 1
