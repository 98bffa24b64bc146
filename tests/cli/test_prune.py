"""`slothtray prune`: what goes, what stays, and that an id is never used again."""

import os
import time

import pytest

from slothtray.system import logcap

DAY = 86400


@pytest.fixture
def aged(home):
    """Makes a finished job of a certain age in days, with a log of a certain size and a run record; its id."""

    def make(state="done", days=0.0, size=10):
        number = home.enqueue("true")
        columns = "state = ?, finished_at = ?, run = ?"
        with home.read() as connection:
            connection.execute(f"UPDATE jobs SET {columns} WHERE id = ?", (state, time.time() - days * DAY, f"{number}-0011aabb", number))
        connection.close()
        for folder in ("logs", "runs"):
            (home.path / folder).mkdir(exist_ok=True)
        (home.path / "logs" / f"{number}.log").write_bytes(b"x" * size)
        (home.path / "runs" / f"{number}-0011aabb").write_bytes(b"{}")
        return number

    return make


def left(home):
    """The ids that still are in the file, of jobs and of events, and those of logs and run records."""
    with home.read() as connection:
        jobs = {number for (number,) in connection.execute("SELECT id FROM jobs")}
        events = {number for (number,) in connection.execute("SELECT job FROM events WHERE job IS NOT NULL")}
    connection.close()
    logs = {int(name.partition(".")[0]) for name in os.listdir(home.path / "logs")}
    runs = {int(name.partition("-")[0]) for name in os.listdir(home.path / "runs")}
    return jobs, events, logs, runs


def test_done_and_cancelled_jobs_of_more_than_thirty_days_go_with_all_that_is_theirs(home, aged):
    gone = [aged("done", 31), aged("cancelled", 40)]
    stay = [aged("done", 29), aged("failed", 99), aged("held", 99), aged("pending", 99)]
    done = home.run("prune")
    assert (done.stdout, done.stderr) == ("2 jobs removed, 20 B of logs\n", "")
    assert left(home) == (set(stay),) * 4
    assert f"there is no job {gone[0]}" in home.run("show", str(gone[0]), code=1).stderr
    assert home.run("prune").stdout == "0 jobs removed, 0 B of logs\n"


def test_older_says_how_old_and_0_is_all_and_failed_ones_go_only_when_asked_for(home, aged):
    ids = [aged("done", 0.5), aged("done", 1.5), aged("failed", 1.5), aged("cancelled", 0)]
    assert home.run("prune", "--older", "1d").stdout == "1 job removed, 10 B of logs\n"
    assert left(home)[0] == {ids[0], ids[2], ids[3]}
    assert home.run("prune", "--older", "0").stdout == "2 jobs removed, 20 B of logs\n"
    assert left(home)[0] == {ids[2]}
    assert home.run("prune", "--older", "1d", "--failed").stdout == "1 job removed, 10 B of logs\n"
    assert left(home) == (set(),) * 4


def test_size_takes_the_oldest_until_the_logs_fit(home, aged):
    ids = [aged("done", 3, 600), aged("done", 1, 500), aged("failed", 9, 100), aged("done", 2, 400)]
    assert home.run("prune", "--size", "1.1k", "--dry-run").stdout == f"1 job would go ({ids[0]}), 600 B of logs\n"
    assert home.run("prune", "--size", "1.1k").stdout == "1 job removed, 600 B of logs\n"
    assert left(home)[0] == set(ids[1:])
    assert home.run("prune", "--size", "0").stdout == "2 jobs removed, 900 B of logs\n"
    assert left(home)[0] == {ids[2]}


def test_size_is_what_a_log_takes_on_the_disk_without_what_was_cut_out_of_it(home, aged):
    cut = aged("done", 2, size=1_000_000)
    logcap.trim(home.paths.log(cut), 100_000)
    other = aged("done", 1, size=100_000)
    assert home.run("prune", "--size", "250000").stdout == "0 jobs removed, 0 B of logs\n"
    assert home.run("prune", "--size", "150000").stdout.startswith("1 job removed, 1")
    assert left(home)[0] == {other}


def test_a_dry_run_names_what_would_go_and_leaves_it(home, aged):
    ids = [aged("done", 40), aged("done", 41), aged("done", 42), aged("failed", 50), aged("done", 43)]
    before = left(home)
    assert home.run("prune", "--dry-run").stdout == f"4 jobs would go ({ids[0]}-{ids[2]}, {ids[4]}), 40 B of logs\n"
    assert left(home) == before


def test_case_31_an_id_is_never_used_again(home, aged):
    last = [aged("done", 40) for _ in range(3)][-1]
    home.run("prune")
    assert left(home)[0] == set()
    assert home.add("true") == last + 1


def test_a_job_that_runs_now_keeps_its_log(home, go):
    number = home.add(f"echo begun; until [ -e {go} ]; do sleep 0.02; done")
    home.start()
    home.wait_for(number, "running")
    home.run("prune", "--older", "0", "--failed")
    go.touch()
    assert home.wait_for(number, "done") == "done"
    assert home.log(number) == "begun\n"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--older", "old"], "--older: 'old' is not a duration"),
        (["--older", "-1d"], "negative"),
        (["--size", "much"], "--size: 'much' is not a size"),
        (["--size", "-1"], "not a size"),
        (["7"], "`slothtray prune` takes no '7'"),
        (["--all"], "`slothtray prune` has no option --all"),
    ],
    ids=" ".join,
)
def test_bad_options_are_one_line_and_nothing_goes(home, aged, options, told):
    aged("done", 99)
    before = left(home)
    done = home.run("prune", *options, code=2)
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert told in done.stderr
    assert left(home) == before
