"""How jobs end, what they are given, and what a missing desktop changes of it: nothing (cases 8, 16, 17, 22, 26, 27)."""

import socket

import pytest
from harness import command_line, eventually

WIDE = {"COLUMNS": "300"}


def listed(home):
    """The lines of `list`, wide enough to hold everything."""
    return home.run("list", env={**home.environment, **WIDE}).stdout.splitlines()


def test_case_08_a_job_has_the_environment_of_the_shell_it_was_added_from_not_the_apps(home):
    home.start(environment={"SECRET_OF_APP": "1", "DISPLAY": ":77"})
    shell = {**home.environment, "FOO": "b", "API_TOKEN": "t0psecret", "DISPLAY": ":55", "LINES_OF": "a\nb"}
    number = home.add("env", env=shell)
    assert home.wait_for(number, "done") == "done"
    lines = home.log(number).splitlines()
    assert "FOO=b" in lines
    assert not [line for line in lines if "SECRET_OF_APP" in line or "t0psecret" in line]
    assert "DISPLAY=:77" in lines  # a login's variables come from the app: the adding shell's login may be over
    assert {f"SLOTHTRAY_JOB={number}", "SLOTHTRAY_ATTEMPT=1", "TERM=dumb"} <= set(lines)


def test_case_08_a_job_has_no_file_of_the_app_or_its_supervisor_open(home):
    home.start()
    number = home.add("for file in /proc/$$/fd/*; do readlink $file; done; exit 0")
    assert home.wait_for(number, "done") == "done"
    log = home.paths.log(number)
    assert home.log(number).splitlines() == ["/dev/null", log, log]


def test_case_08_what_looks_secret_is_not_in_the_database_either(home):
    home.add("true", env={**home.environment, "DB_PASSWORD": "t0psecret"})
    assert b"t0psecret" not in (home.path / "queue.db").read_bytes()
    shown = home.run("show", "1").stdout
    assert "DB_PASSWORD" in shown
    assert "t0psecret" not in shown


def test_case_16_ways_to_end_are_told_apart(home):
    ids = [home.add(command) for command in ("nosuchcmd", "kill -9 $$", "exit 255")]
    ids.append(home.add("true", env={**home.environment, "SHELL": "/nowhere/sh"}))
    home.start()
    assert [home.wait_for(one, "done", "failed") for one in ids] == ["failed"] * 4
    rows = {line.split()[0]: line for line in listed(home)[1:]}
    for one, words in zip(ids, ("exit 127", "signal 9", "exit 255", "could not start: /nowhere/sh: No such file"), strict=True):
        assert words in rows[str(one)]
    jobs = [home.job(one) for one in ids]
    assert [(job["exit_code"], job["signal"]) for job in jobs] == [(127, None), (None, 9), (255, None), (None, None)]
    assert "nosuchcmd" in home.log(ids[0])


def test_case_16_a_command_that_cannot_be_found_is_not_tried_again(home):
    ids = [home.add("--attempts", "3", command) for command in ("nosuchcmd", "true")]
    ids.append(home.add("--attempts", "3", "--", "nosuchprogram", "-x"))
    home.start()
    assert [home.wait_for(one, "done", "failed", "cancelled") for one in ids] == ["failed", "done", "failed"]
    assert [home.row(one, "attempts") for one in ids] == [1, 1, 1]
    assert home.row(ids[2], "message") == "could not start: nosuchprogram: No such file or directory"


def test_case_17_a_job_whose_folder_is_gone_fails_with_that_reason_and_runs_nowhere_else(home):
    gone = home.work / "gone"
    gone.mkdir()
    number = home.add("--cwd", str(gone), f"pwd > {home.work}/where; echo ran > ran")
    gone.rmdir()
    home.start()
    assert home.wait_for(number, "done", "failed") == "failed"
    assert home.row(number, "message") == f"could not start: folder {gone}: No such file or directory"
    assert home.wrote("where") == home.wrote("ran") == ""
    assert home.wait_for(home.add("true"), "done") == "done"


@pytest.fixture
def dead_end(tmp_path):
    """Addresses of buses that don't work: by the kind of their fault."""
    hung = socket.socket(socket.AF_UNIX)
    hung.bind(str(tmp_path / "hung"))
    hung.listen()  # takes the connection, and never says a word
    refused = socket.socket(socket.AF_UNIX)
    refused.bind(str(tmp_path / "refused"))
    refused.close()
    yield {name: f"unix:path={tmp_path / name}" for name in ("missing", "refused", "hung")}
    hung.close()


@pytest.mark.parametrize("fault", ["missing", "refused", "hung"])
def test_case_22_a_bus_that_does_not_work_changes_nothing_for_a_job_and_its_failure_stays_in_the_list(home, dead_end, fault):
    bus = {"DBUS_SESSION_BUS_ADDRESS": dead_end[fault], "DBUS_SYSTEM_BUS_ADDRESS": dead_end[fault]}
    failing, fine = home.add("echo oh no; exit 3"), home.add("true")
    home.start(environment=bus)
    assert [home.wait_for(one, "done", "failed") for one in (failing, fine)] == ["failed", "done"]
    assert home.queue()["failed_unseen"] == 1
    row = next(line for line in listed(home) if line.split()[0] == str(failing))
    assert "failed" in row
    assert "exit 3" in row
    home.run("show", str(failing))
    assert home.queue()["failed_unseen"] == 0


def test_case_26_a_pause_lets_the_running_job_end_and_starts_nothing_new(home):
    first = home.add("touch began; until [ -e go ]; do sleep 0.02; done")
    second = home.add("true")
    home.start()
    eventually((home.work / "began").exists, "the job has begun")
    home.run("pause")
    (home.work / "go").touch()
    assert home.wait_for(first, "done", "failed", "cancelled", "pending") == "done"
    eventually(lambda: home.queue()["reason"] == "paused", "the app has looked at the next job, and waits")
    assert home.kinds(second) == ["added"]
    assert home.queue()["state"] == "paused"
    home.run("resume")
    assert home.wait_for(second, "done") == "done"


def test_case_27_a_daemon_that_a_job_leaves_behind_lives_and_keeps_nothing_waiting(home):
    first, second = home.add("sleep 30 & exit 0"), home.add("true")
    home.start()
    assert home.wait_for(first, "done", "failed", limit=10) == "done"
    assert home.row(first, "message") == "ok, left 1 running"
    assert home.wait_for(second, "done", limit=10) == "done"
    eventually(lambda: [command_line(pid) for pid in home.processes()] == ["sleep 30"], "it lives, and nothing else")
