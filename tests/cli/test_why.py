"""`slothtray why`: what keeps a job, or the queue, from going on (case 32)."""

import json
import re
import time

import pytest
from harness import eventually


def why(home, *words):
    """Its answer, a line each."""
    return home.run("why", *map(str, words)).stdout.splitlines()


def gates(home, *words):
    """The gates that its JSON names."""
    told = json.loads(home.run("why", "--json", *map(str, words)).stdout)
    assert (told["version"], told["job"]) == (1, words[0] if words else None)
    return [wait["gate"] for wait in told["waits"]]


NO_APP = "app: no app is running; start `slothtray`, or `slothtray run`"


def test_nothing_waits_in_an_empty_queue(home):
    assert why(home) == ["Nothing waits."]
    assert gates(home) == []


def test_without_an_app_that_is_the_reason_after_what_is_the_jobs_own(home):
    first, second, third = home.enqueue("true"), home.enqueue("true"), home.enqueue("true")
    assert why(home) == [NO_APP]
    assert why(home, first) == [NO_APP]
    assert why(home, second) == ["queue: 1 job goes first", NO_APP]
    assert why(home, third) == ["queue: 2 jobs go first", NO_APP]
    assert gates(home, third) == ["queue", "app"]
    home.run("start", str(third))
    assert why(home, third) == [NO_APP]
    assert why(home, first) == ["queue: 1 job goes first", NO_APP]


def test_case_32_the_load_with_its_figures_and_since_when(home):
    home.set_load(2.91)
    number = home.add("true")
    home.start("--interval", "0.05", ceiling="1.5")
    eventually(lambda: home.queue()["reason"], "the runner has said why it waits")
    (line,) = why(home, number)
    found = re.fullmatch(r"load: load 2\.91 > 1\.50 since (\d\d:\d\d)", line)
    since = json.loads(home.run("why", "--json").stdout)["waits"][0]["since"]
    assert found
    assert found[1] == time.strftime("%H:%M", time.localtime(home.row(number, "(SELECT since FROM queue)")))
    assert since.endswith("Z")
    assert why(home) == [line]
    assert home.run("why", str(number)).stderr.startswith(f"slothtray: the machine is busy: `slothtray start {number}` starts ")


def test_case_32_the_next_attempt_and_when(running):
    number = running.add("--attempts", "4", "exit 3")
    eventually(lambda: running.kinds(number).count("retry") == 3, "the third attempt has failed: 8 s to look at it")
    (line,) = why(running, number)
    assert re.fullmatch(r"retry: attempt 4 in [\d.]+ s \(exit 3\), at \d\d:\d\d", line)
    assert gates(running, number) == ["retry"]
    running.run("cancel", str(number))
    assert why(running, number) == [f"Job {number} does not wait: it is cancelled (cancelled before it ran); `slothtray retry {number}` queues it again."]


def test_case_32_a_pause_and_until_when(home):
    number = home.add("true")
    home.run("pause")
    home.start()
    (line,) = why(home, number)
    assert re.fullmatch(r"pause: paused since \d\d:\d\d; `slothtray resume` goes on", line)
    home.run("pause", "30m")
    (line,) = why(home)
    until = time.strftime("%H:%M", time.localtime(home.row(number, "(SELECT paused_until FROM queue)")))
    assert line.endswith(f" until {until}")
    home.run("pause", "3d")
    assert re.search(r" until \d{4}-\d\d-\d\d \d\d:\d\d$", why(home)[0])  # a mere 14:02 would be read as today
    assert gates(home) == gates(home, number) == ["pause"]


def test_the_job_that_runs_and_those_that_go_first(home, go):
    first = home.add(f"until [ -e {go} ]; do sleep 0.02; done")
    home.start()
    home.wait_for(first, "running")
    second, third = home.enqueue("true"), home.enqueue("true")
    assert why(home, second) == [f"running: job {first} runs first"]
    assert why(home, third) == [f"running: job {first} runs first", "queue: 1 job goes first"]
    assert why(home) == [f"running: job {first} runs"]
    assert why(home, first) == [f"Job {first} does not wait: it is running."]
    go.touch()
    home.wait_for(third, "done")
    assert why(home, third)[0] == f"Job {third} does not wait: it is done."
    assert why(home) == ["Nothing waits."]


def test_a_delay_another_job_and_a_hold(running):
    later = running.add("--delay", "2d", "true")
    dependent, held = running.add("--after", str(later), "true"), running.add("--hold", "true")
    (line,) = why(running, later)
    assert re.fullmatch(r"delay: in (2 d|1 d 23 h), at \d{4}-\d\d-\d\d \d\d:\d\d", line)
    assert why(running, dependent) == [f"after: job {later} must be done first"]
    assert why(running, held) == [f"held: held by you; `slothtray release {held}` queues it"]
    assert why(running)[0].startswith(f"delay: job {later}: in ")  # of those that are not due the first
    assert [gates(running, number) for number in (later, dependent, held)] == [["delay"], ["after"], ["held"]]
    running.run("cancel", str(later), str(held))


def test_a_failed_job_does_not_wait_and_the_way_back_is_told(running):
    number = running.add("exit 4")
    running.wait_for(number, "failed")
    assert why(running, number) == [f"Job {number} does not wait: it is failed (exit 4); `slothtray retry {number}` queues it again."]


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [(["1", "2"], 2, "takes one ID, not 2"), (["x"], 2, "'x' is not a job id"), (["1-3"], 2, "several jobs"), (["999"], 1, "there is no job 999")],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_words_are_one_line(idle, words, code, told):
    done = idle.run("why", *words, code=code)
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert told in done.stderr
