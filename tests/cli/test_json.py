"""The contract with programs: exactly these keys, of these types (DESIGN 12). A change here is a change of the version."""

import json
import os
import re

import pytest
from harness import eventually

TEXT, WHOLE, NUMBER, LIST, FLAG = str, int, (int, float), list, bool
TIME = "an ISO 8601 time in UTC"


class Maybe:
    """That, or null where it doesn't apply."""

    def __init__(self, kind):
        self.kind = kind


JOB = {
    "id": WHOLE, "state": TEXT, "command": TEXT, "argv": LIST, "label": Maybe(TEXT), "priority": WHOLE,
    "attempts": WHOLE, "failures": WHOLE, "interruptions": WHOLE, "max_attempts": WHOLE, "max_runtime": Maybe(NUMBER),
    "exit_code": Maybe(WHOLE), "signal": Maybe(WHOLE), "message": Maybe(TEXT), "reason": Maybe(TEXT), "created_at": TIME,
    "not_before": Maybe(TIME), "started_at": Maybe(TIME), "finished_at": Maybe(TIME), "after": Maybe(WHOLE),
    "expires_at": Maybe(TIME), "cwd": TEXT, "log": TEXT,
}
LOAD = {"one": NUMBER, "own": NUMBER, "foreign": NUMBER, "ceiling": Maybe(NUMBER)}
APP = {"running": FLAG, "pid": Maybe(WHOLE)}
QUEUE = {
    "state": TEXT, "reason": Maybe(TEXT), "running": WHOLE, "held": WHOLE, "failed_unseen": WHOLE,
    "load": Maybe(LOAD), "app": APP,
}
EVENT = {"at": TIME, "kind": TEXT, "detail": TEXT}
WAIT = {"gate": TEXT, "reason": TEXT, "since": Maybe(TIME), "until": Maybe(TIME)}
ERROR = {"version": WHOLE, "error": {"code": TEXT, "title": TEXT, "message": TEXT}}


def fits(value, kind, where="answer"):
    """Fail unless the value is of the kind, down to its last key."""
    if isinstance(kind, Maybe):
        if value is not None:
            fits(value, kind.kind, where)
    elif isinstance(kind, dict):
        assert list(value) == list(kind), where
        for name, inner in kind.items():
            fits(value[name], inner, f"{where}.{name}")
    elif kind is TIME:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", value), where
    else:
        assert isinstance(value, kind), (where, value)
        assert kind is FLAG or not isinstance(value, bool), (where, value)


def told(home, *words, code=0):
    """A command's JSON, which is one line of ASCII."""
    done = home.run(*map(str, words), code=code)
    assert done.stdout.isascii()
    assert done.stdout.count("\n") == 1
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def ended(running):
    """Jobs in every state, by the state."""
    first = running.add("-p", "2", "--label", "ü", "true")
    failing = running.add("-t", "1h", "--attempts", "1", "exit 3")
    killed = running.add("kill -9 $$")
    held = running.add("--hold", "true")
    waiting = running.add("--after", str(held), "--expires", "1d", "true")
    delayed = running.add("--delay", "1h", "true")
    cancelled = running.add("--hold", "true")
    running.run("cancel", str(cancelled))
    for number in (first, failing, killed):
        running.wait_for(number, "done", "failed")
    active = running.add("sleep 600")
    running.wait_for(active, "running")
    names = ("done", "failed", "killed", "held", "waiting", "delayed", "cancelled", "running")
    return dict(zip(names, (first, failing, killed, held, waiting, delayed, cancelled, active), strict=True))


def test_list_has_exactly_these_keys(running, ended):
    answer = told(running, "list", "--json")
    fits(answer, {"version": WHOLE, "queue": QUEUE, "jobs": LIST})
    for job in answer["jobs"]:
        fits(job, JOB)
    assert {job["id"] for job in answer["jobs"]} == set(ended.values())
    queue = answer["queue"]
    assert (answer["version"], queue["state"], queue["running"], queue["held"]) == (1, "running", 1, 1)
    assert queue["app"] == {"running": True, "pid": running.apps[0].process.pid}


def test_show_has_exactly_these_keys_and_what_does_not_apply_is_null(running, ended):
    jobs = {}
    for name, number in ended.items():
        answer = told(running, "show", number, "--json")
        fits(answer, {"version": WHOLE, "job": JOB, "events": LIST})
        for event in answer["events"]:
            fits(event, EVENT)
        assert answer["events"][0]["kind"] == "added"
        jobs[name] = answer["job"]
    null = {name: {key for key, value in job.items() if value is None} for name, job in jobs.items()}
    unset = {"max_runtime", "not_before", "after", "expires_at", "label"}
    assert null["done"] == {*unset, "signal", "reason"} - {"label"}
    assert null["failed"] == {*unset, "signal", "reason"} - {"max_runtime"}
    assert null["killed"] == {*unset, "exit_code", "reason"}
    assert null["held"] == {*unset, "exit_code", "signal", "message", "started_at", "finished_at"}
    assert null["cancelled"] == {*unset, "exit_code", "signal", "started_at", "reason"}
    assert null["waiting"] == {*unset, "exit_code", "signal", "message", "reason", "started_at", "finished_at"} - {"after", "expires_at"}
    assert null["delayed"] == {*unset, "exit_code", "signal", "message", "reason", "started_at", "finished_at"} - {"not_before"}
    assert null["running"] == {*unset, "exit_code", "signal", "message", "reason", "finished_at"}
    assert [jobs[name]["exit_code"] for name in ("done", "failed", "killed")] == [0, 3, None]
    assert (jobs["killed"]["signal"], jobs["failed"]["max_runtime"], jobs["waiting"]["after"]) == (9, 3600.0, ended["held"])
    assert (jobs["done"]["label"], jobs["done"]["log"]) == ("ü", running.paths.log(ended["done"]))
    assert jobs["failed"]["max_attempts"] == 1


def test_add_gives_the_job(running):
    answer = told(running, "add", "--json", "--hold", "true")
    fits(answer, {"version": WHOLE, "job": JOB})
    running.run("cancel", str(answer["job"]["id"]))


def test_why_has_exactly_these_keys(running, ended):
    for name in ("held", "waiting", "delayed", "running", "failed"):
        answer = told(running, "why", "--json", ended[name])
        fits(answer, {"version": WHOLE, "job": WHOLE, "waits": LIST})
        for wait in answer["waits"]:
            fits(wait, WAIT)
        assert answer["job"] == ended[name]
        assert bool(answer["waits"]) == (name in ("held", "waiting", "delayed"))
    answer = told(running, "why", "--json")
    fits(answer, {"version": WHOLE, "job": Maybe(WHOLE), "waits": LIST})
    assert answer["job"] is None


def test_autostart_has_exactly_these_keys(idle):
    state = {"enabled": FLAG, "path": TEXT, "command": Maybe(LIST), "problem": Maybe(TEXT)}
    fits(told(idle, "autostart", "--json"), {"version": WHOLE, "login": state, "headless": Maybe(state), "linger": Maybe(FLAG)})


def test_without_an_app_load_and_reason_are_null(home):
    fits(told(home, "list", "--json"), {"version": WHOLE, "queue": QUEUE, "jobs": LIST})
    home.set_load(7.5)
    home.add("true")
    app = home.start("--interval", "0.05", ceiling="1.5")
    eventually(lambda: home.queue()["load"], "the runner has measured")
    queue = home.queue()
    fits(queue, QUEUE)
    assert queue["load"] == {"one": 7.5, "own": 0.0, "foreign": 7.5, "ceiling": 1.5}
    assert (queue["state"], queue["reason"][:16]) == ("waiting", "load 7.50 > 1.50")
    app.kill()
    queue = home.queue()
    assert (queue["load"], queue["reason"], queue["app"]) == (None, None, {"running": False, "pid": None})
    assert queue["state"] == "waiting"


@pytest.mark.parametrize("setting", [["pause"], ["resume"]])
def test_the_queues_state_is_one_of_four(home, setting):
    assert told(home, "list", "--json")["queue"]["state"] == "idle"
    home.run(*setting)
    assert told(home, "list", "--json")["queue"]["state"] == ("paused" if setting == ["pause"] else "idle")


def test_environments_are_in_no_answer(home):
    secret = {**home.environment, "SOME_VARIABLE": "v4lue-of-it"}
    home.run("add", "--json", "true", env=secret)
    for words in (["list", "--json"], ["list"], ["show", "1", "--json"], ["show", "1"], ["why", "1", "--json"]):
        assert "v4lue-of-it" not in home.run(*words).stdout


def test_bytes_that_are_no_text_are_told_as_escapes(idle):
    number = idle.add("--", "echo", os.fsdecode(b"\xff"))
    assert told(idle, "show", number, "--json")["job"]["argv"] == ["echo", "\udcff"]


COMMANDS_WITH_JSON = {
    "add": (["add", "--json", "-p", "99", "true"], 2, "usage"),
    "list": (["list", "--json", "--state", "x"], 2, "usage"),
    "show": (["show", "--json", "99999"], 1, "unknown-job"),
    "why": (["why", "--json", "99999"], 1, "unknown-job"),
    "restore": (["restore", "no-such-backup", "--json"], 1, "refused"),
    "config": (["config", "get", "no_such_key", "--json"], 2, None),
    "autostart": (["autostart", "--json", "on"], 2, "usage"),
}


@pytest.mark.parametrize("name", COMMANDS_WITH_JSON)
def test_every_command_with_json_tells_its_errors_in_an_envelope_on_stdout(idle, name):
    words, code, error = COMMANDS_WITH_JSON[name]
    done = idle.run(*words, code=code)
    answer = json.loads(done.stdout)
    fits(answer, ERROR)
    assert (answer["version"], done.stderr) == (1, "")
    assert error is None or answer["error"]["code"] == error
    for bad in ([name, "--json", "--no-such-option"], [name, "--no-such-option", "--json"]):
        fits(told(idle, *bad, code=2), ERROR)


def test_an_error_of_a_word_that_is_no_command_is_told_so_too(idle):
    fits(told(idle, "lsit", "--json", code=2), ERROR)


def test_no_other_command_has_json_without_a_line_here():
    from slothtray.cli.table import COMMANDS

    theirs = {"doctor"}  # has a contract test of its own
    having = {command.name for command in COMMANDS.values() if any("--json" in option.names for option in command.options)}
    assert having - theirs == set(COMMANDS_WITH_JSON)
