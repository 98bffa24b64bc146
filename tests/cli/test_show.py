"""`slothtray show`: all about one job, a fact a line, then its history."""

import re

import pytest


def facts(home, number):
    """What is said before the history, by its name; and the lines of the history."""
    before, _, after = home.run("show", str(number)).stdout.partition("\n\n")
    found = dict(re.split(r": +", line, maxsplit=1) for line in before.splitlines())
    return found, after.splitlines()


def test_every_setting_of_a_job_has_its_line(idle):
    first = idle.add("--hold", "true", env={**idle.environment, "API_TOKEN": "t"})
    limits = ["-p", "3", "-t", "90m", "--attempts", "4", "--once", "--after", str(first), "--expires", "2h", "--label", "nightly"]
    number = idle.add(*limits, "--cwd", "/usr", "make -j4")
    found, history = facts(idle, number)
    expires = found.pop("expires")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", expires)
    assert found == {
        "job": str(number),
        "state": f"pending: after job {first}",
        "command": "make -j4",
        "label": "nightly",
        "folder": "/usr",
        "priority": "3",
        "attempts": "0 of 4",
        "max runtime": "1 h 30 min",
        "once": "never run again by itself",
        "after": f"job {first}",
        "log": idle.paths.log(number),
    }
    assert [line.split(maxsplit=2)[2] for line in history] == ["added"]
    assert facts(idle, first)[0]["not passed on"] == "API_TOKEN"


def test_what_is_not_set_is_not_shown(home):
    number = home.enqueue("true")
    assert list(facts(home, number)[0]) == ["job", "state", "command", "folder", "priority", "attempts", "log"]


def test_the_state_comes_with_its_reason_as_in_the_list(home, go):
    first, second, later = home.add(f"until [ -e {go} ]; do sleep 0.02; done"), home.enqueue("true"), home.add("--delay", "3d", "true")
    assert facts(home, first)[0]["state"] == "pending: no app is running"
    assert facts(home, second)[0]["state"] == f"pending: behind {first}"
    home.start()
    home.wait_for(first, "running")
    assert facts(home, first)[0]["state"].startswith("running: for ")
    assert facts(home, second)[0]["state"] == f"pending: behind {first}"
    assert facts(home, later)[0]["state"] in ("pending: in 2 d 23 h", "pending: in 3 d")
    go.touch()
    home.wait_for(second, "done")
    assert re.fullmatch(r"done: ok, (just now|[\d.]+ s ago)", facts(home, second)[0]["state"])


def test_the_history_tells_every_event_with_its_time_and_why(running):
    number = running.add("exit 3")
    running.wait_for(number, "failed")
    running.run("retry", str(number))
    running.wait_for(number, "failed")
    _, history = facts(running, number)
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  ", line) for line in history)
    told = [line[21:] for line in history]
    assert told == ["added", "claimed  attempt 1", "failed  exit 3", "retried  by you", "claimed  attempt 2", "failed  exit 3"]


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [([], 2, "needs ID"), (["x"], 2, "'x' is not a job id"), (["1-2"], 2, "several jobs"), (["1", "2"], 2, "takes one ID, not 2"), (["4711"], 1, "there is no job 4711")],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_words_are_one_line(idle, words, code, told):
    done = idle.run("show", *words, code=code)
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert told in done.stderr
