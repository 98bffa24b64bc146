"""`slothtray cancel`, `retry`, `start`, `hold`, `release` and `edit`: one job, several, and what is refused."""

import os
import re
import shlex
import stat
import time
import tomllib
from pathlib import Path

import pytest
from harness import eventually
from ptys import Terminal

NO_APP = "slothtray: no app is running; it starts when one is (`slothtray`, or `slothtray run`)\n"


def silent(home, *words):
    """Run a command that has nothing to say."""
    done = home.run(*map(str, words))
    assert (done.stdout, done.stderr) == ("", "")


def states(home, ids):
    return [home.row(number) for number in ids]


# --- several at once ------------------------------------------------------------------------------------------------------------


def test_ids_may_be_several_lists_and_ranges_and_each_is_done_once(home):
    ids = [home.enqueue("true") for _ in range(6)]
    silent(home, "hold", ids[0], f"{ids[1]}-{ids[2]}", f"{ids[2]},{ids[4]}")
    assert states(home, ids) == ["held", "held", "held", "pending", "held", "pending"]
    done = home.run("release", f"{ids[0]}-{ids[3]}", code=1)
    assert done.stderr == f"slothtray: job {ids[3]} can't be released: it is pending: only held jobs can\n{NO_APP}"
    assert states(home, ids) == ["pending", "pending", "pending", "pending", "held", "pending"]
    silent(home, "cancel", f"{ids[0]}-{ids[5]}")
    assert states(home, ids) == ["cancelled"] * 6
    assert home.run("retry", f"{ids[5]}-{ids[5]}").stderr == NO_APP
    assert states(home, ids[4:]) == ["cancelled", "pending"]


@pytest.mark.parametrize(
    ("word", "ids", "told"),
    [
        ("cancel", "5-3", "'5-3' is no range: did you mean 3-5?"),
        ("retry", "1-", "not a job id"),
        ("hold", "1-999999", "too many"),
        ("release", "9" * 50, "not a job id"),
        ("cancel", "-1", "no option -1"),
    ],
)
def test_bad_ids_are_one_line_and_nothing_is_changed(idle, word, ids, told):
    number = idle.enqueue("true")
    done = idle.run(word, str(number), ids, code=2)
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert told in done.stderr
    assert idle.kinds(number) == ["added"]


def test_what_is_refused_says_why_and_what_to_do(running, go):
    active = running.add(f"until [ -e {go} ]; do sleep 0.02; done")
    running.wait_for(active, "running")
    held, pending, over = running.enqueue("true", hold=True), running.enqueue("true"), running.enqueue("true")
    running.run("cancel", str(over))
    refused = {
        ("cancel", over): "is over already (cancelled)",
        ("retry", pending): "can't be retried: it is pending: only finished jobs can",
        ("hold", active): "can't be held: it is running: only pending jobs can",
        ("release", pending): "can't be released: it is pending: only held jobs can",
        ("start", held): f"can't be started: it is held: `slothtray release {held}` first",
        ("start", over): f"can't be started: it is cancelled: `slothtray retry {over}` queues it again",
        ("edit", active): "can't be changed: it is running: only pending and held jobs can",
    }
    for (word, number), told in refused.items():
        before = running.kinds(number)
        done = running.run(word, str(number), code=1)
        assert (done.stdout, done.stderr) == ("", f"slothtray: job {number} {told}\n")
        assert running.kinds(number) == before
    running.run("cancel", f"{held}-{pending}")


# --- one by one -----------------------------------------------------------------------------------------------------------------


def test_cancel_ends_a_running_job_at_once_and_the_next_goes_on(running):
    number = running.add("sleep 60 & sleep 60")
    after = running.add("true")
    running.wait_for(number, "running")
    silent(running, "cancel", number)
    assert running.wait_for(number, "cancelled", "failed", "done") == "cancelled"
    assert running.row(number, "message").startswith("cancelled")
    assert running.wait_for(after, "done") == "done"


def test_without_an_app_a_cancel_of_what_waits_is_done_and_a_retry_release_or_start_says_that_it_has_to_wait(idle):
    number, held = idle.enqueue("true"), idle.enqueue("true", hold=True)
    silent(idle, "cancel", number, held)
    assert idle.run("retry", str(number), str(held)).stderr == NO_APP
    assert idle.run("start", str(number)).stderr == NO_APP
    silent(idle, "hold", number)
    assert idle.run("release", str(number)).stderr == NO_APP
    assert idle.kinds(number) == ["added", "cancelled", "retried", "start", "held", "released"]


def test_retry_runs_it_again_under_its_id_with_its_settings_and_its_history(running, tmp_path):
    number = running.add("-p", "3", "--label", "again", f"[ -e {tmp_path}/mended ]")
    assert running.wait_for(number, "failed")
    (tmp_path / "mended").touch()
    silent(running, "retry", number)
    assert running.wait_for(number, "done") == "done"
    job = running.job(number)
    assert (job["priority"], job["label"], job["failures"], job["attempts"]) == (3, "again", 0, 2)
    assert running.events(number) == ["added", "claimed", "failed", "retried", "claimed", "done"]


def test_start_overrides_pause_load_delay_and_the_order_for_one_job(home):
    home.set_load(50.0)
    first, delayed = home.add("true"), home.add("--delay", "1h", "true")
    home.run("pause")
    home.start(ceiling="1.0")
    eventually(lambda: home.queue()["reason"], "the runner has looked")
    silent(home, "start", delayed)
    assert home.wait_for(delayed, "done") == "done"
    assert home.row(first) == "pending"
    assert home.kinds(delayed) == ["added", "start", "claimed", "done"]
    assert home.queue()["state"] == "paused"


def test_start_takes_one_id(idle):
    assert "several jobs" in idle.run("start", "1-2", code=2).stderr
    assert "takes one ID, not 2" in idle.run("start", "1", "2", code=2).stderr


# --- edit by options ------------------------------------------------------------------------------------------------------------


def edited(home, number, *options):
    """The job after an edit."""
    silent(home, "edit", number, *options)
    return home.job(number)


def test_edit_changes_what_its_options_say_and_nothing_else(idle):
    number = idle.add("-p", "1", "-t", "5m", "--label", "old", "echo old")
    before = idle.job(number)
    after = edited(idle, number, "-p", "-4", "-t", "2h", "--attempts", "3", "--label", "new", "--cwd", "/usr", "--command", "echo new")
    changed = {"priority": -4, "max_runtime": 7200.0, "max_attempts": 3, "label": "new", "cwd": "/usr", "command": "echo new"}
    assert after == {**before, **changed, "argv": ["/bin/sh", "-c", "echo new"]}
    assert idle.events(number) == ["added", "edited"]


def test_every_limit_can_be_taken_away_again(idle):
    number = idle.add("-t", "5m", "--delay", "1h", "--expires", "2h", "--label", "l", "true")
    job = edited(idle, number, "-t", "none", "--expires", "none", "--label", "", "--delay", "0")
    assert (job["max_runtime"], job["expires_at"], job["label"]) == (None, None, None)
    assert "in " not in idle.run("why", str(number)).stdout
    assert edited(idle, number, "--at", "2999-01-01T00:00+00:00")["not_before"] == "2999-01-01T00:00:00.000Z"


def test_an_edited_job_runs_as_edited_and_not_before_its_new_time(running):
    held = running.add("--hold", "echo old")
    silent(running, "edit", held, "--command", "echo new | tr n N", "--cwd", "/usr")
    assert running.row(held) == "held"
    running.run("release", str(held))
    assert running.wait_for(held, "done")
    assert running.log(held) == "New\n"


def test_an_edit_that_changes_nothing_leaves_no_trace(idle):
    number = idle.add("-p", "4", "true")
    silent(idle, "edit", number, "-p", "4")
    assert idle.kinds(number) == ["added"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["-p", "40"], "priority 40 is out of range"),
        (["-t", "0"], "no time at all"),
        (["--attempts", "0"], "0 attempts make no sense"),
        (["--cwd", "/no/such"], "/no/such is not a folder"),
        (["--label", "a\nb"], "label"),
        (["--command", " "], "the command is empty"),
        (["--delay", "2h", "--expires", "1h"], "expire before it may start"),
        (["--delay", "2h", "--at", "10:00"], "say the same thing"),
        (["--once"], "`slothtray edit` has no option --once"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_bad_edit_is_one_line_and_leaves_the_job_as_it_was(idle, options, told):
    number = idle.enqueue("true", label="l")
    before = idle.row(number, "quote(priority) || quote(max_runtime) || quote(not_before) || quote(expires_at) || quote(label) || command")
    done = idle.run("edit", str(number), "-p", "9", *options, code=2)
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert told in done.stderr
    after = idle.row(number, "quote(priority) || quote(max_runtime) || quote(not_before) || quote(expires_at) || quote(label) || command")
    assert (after, idle.kinds(number)) == (before, ["added"])


# --- edit in the editor -----------------------------------------------------------------------------------------------------------


def editor(home, tmp_path, script):
    """An environment with an editor that is this shell script; the file to edit is its $1."""
    program = tmp_path / "the editor"
    program.write_text("#!/bin/sh\n" + script)
    program.chmod(0o755)
    return {**home.environment, "EDITOR": shlex.quote(str(program)), "TMPDIR": str(tmp_path)}


def test_the_whole_job_is_given_to_the_editor_as_toml_and_closing_it_unchanged_changes_nothing(idle, tmp_path):
    odd = "echo 'a\tb' \"ü日本🦥\" \\ \x7f\x1b"
    at = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() + 86400))
    number = idle.add("-p", "2", "-t", "12d", "--attempts", "3", "--label", "l", "--once", "--at", at, "--expires", "2d", odd)
    done = idle.run("edit", str(number), env=editor(idle, tmp_path, f'cp "$1" "{tmp_path}/seen"; ls -ld "$(dirname "$1")" "$1"'))
    assert done.stdout.endswith("nothing was changed\n")
    assert re.findall("^(..........)", done.stdout, re.MULTILINE)[:2] == ["drwx------", "-rw-------"]
    seen = tomllib.loads((tmp_path / "seen").read_text())
    assert at < seen.pop("expires") < "9"
    limits = {"priority": 2, "max_runtime": "12d", "attempts": 3, "once": True, "not_before": at}
    assert seen == {"command": odd, "label": "l", "cwd": str(idle.work), **limits}
    assert idle.kinds(number) == ["added"]
    assert not list(tmp_path.glob("slothtray-*"))


def test_what_the_editor_saves_is_the_job(idle, tmp_path):
    number = idle.add("--", "printf", "%s", "🦥\n")
    text = 'argv = ["cat", "a\\nb"]\nlabel = "new"\npriority = -3\nmax_runtime = "1h30m"\nattempts = 2\ncwd = "/usr"\nonce = true\nnot_before = "2999-01-01T00:00:00"\n'
    (tmp_path / "new").write_text(text)
    done = idle.run("edit", str(number), env=editor(idle, tmp_path, f'cp {tmp_path}/new "$1"'))
    assert (done.stdout, done.stderr) == ("", "")
    job = idle.job(number)
    wanted = {"argv": ["cat", "a\nb"], "label": "new", "priority": -3, "max_runtime": 5400.0, "max_attempts": 2, "cwd": "/usr"}
    assert {name: job[name] for name in wanted} == wanted
    assert (idle.row(number, "once"), job["not_before"] is None) == (1, False)
    assert not list(tmp_path.glob("slothtray-*"))


def test_a_line_that_is_taken_out_leaves_that_as_it_was(idle, tmp_path):
    number = idle.add("-p", "2", "--label", "l", "true")
    idle.run("edit", str(number), env=editor(idle, tmp_path, 'echo "priority = 5" > "$1"'))
    job = idle.job(number)
    assert (job["priority"], job["label"], job["command"]) == (5, "l", "true")


BAD_TEXTS = [
    ("this is no toml", "that is no TOML: "),
    ("priority = 99", "priority 99 is out of range"),
    ('priority = "high"', "priority must be a whole number"),
    ("once = 1", "once must be true or false"),
    ("colour = 3", "there is no 'colour': known are command, argv"),
    ('command = ""', "the command is empty"),
    ("argv = [1]", "argv must be a list of texts"),
    ('command = "a"\nargv = ["b"]', "a command and an argv"),
    ('max_runtime = "long"', "'long' is not a duration"),
    ('not_before = "2001-01-01T00:00"', "is over already"),
    ('cwd = "/no/such/folder"', "/no/such/folder is not a folder"),
    ('expires = "2998-01-01T00:00"\nnot_before = "2999-01-01T00:00"', "expire before it may start"),
]


@pytest.mark.parametrize(("text", "told"), BAD_TEXTS, ids=[text for text, _ in BAD_TEXTS])
def test_a_text_that_cannot_be_meant_leaves_the_job_as_it_was_and_is_not_lost(idle, tmp_path, text, told):
    number = idle.enqueue("true", label="l")
    (tmp_path / "new").write_text(text)
    done = idle.run("edit", str(number), code=2, env=editor(idle, tmp_path, f'cp {tmp_path}/new "$1"'))
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert f"job {number} was left as it was: " in done.stderr
    assert told in done.stderr
    kept = Path(done.stderr.rstrip().rpartition("what you wrote is kept in ")[2])
    assert kept.read_text() == text
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    assert (idle.kinds(number), idle.row(number, "label")) == (["added"], "l")


def test_a_job_that_starts_while_it_is_edited_is_left_alone_and_the_text_is_kept(running, tmp_path):
    number = running.add("--hold", "sleep 60")
    script = f'{{ echo "# mine"; cat "$1"; }} > "$1.new"; sed s/60/61/ "$1.new" > "$1"; touch {tmp_path}/editing; until [ -e {tmp_path}/go ]; do sleep 0.02; done'
    with Terminal(running, "edit", str(number), **editor(running, tmp_path, script)) as terminal:
        eventually((tmp_path / "editing").exists, "the editor is open")
        running.run("release", str(number))
        running.wait_for(number, "running")
        (tmp_path / "go").touch()
        assert terminal.end() == 1
        said = terminal.written.decode()
    assert f"job {number} was left as it was: job {number} can't be changed: it is running" in said
    assert "sleep 61" in Path(said.rstrip().rpartition("kept in ")[2]).read_text()
    running.run("cancel", str(number))


def test_an_editor_that_fails_or_is_missing_changes_nothing_and_leaves_nothing(idle, tmp_path):
    number = idle.enqueue("true")
    done = idle.run("edit", str(number), code=1, env=editor(idle, tmp_path, "exit 3"))
    assert f"job {number} was left as it was: the editor " in done.stderr
    assert done.stderr.endswith(" ended with 3\n")
    done = idle.run("edit", str(number), code=1, env={**idle.environment, "EDITOR": "no-such-editor -x", "TMPDIR": str(tmp_path)})
    assert "set EDITOR, or use options such as -p 5" in done.stderr
    done = idle.run("edit", str(number), code=2, env=editor(idle, tmp_path, 'rm "$1"'))
    assert "can't be read" in done.stderr
    assert idle.kinds(number) == ["added"]
    assert not list(tmp_path.glob("slothtray-*"))


def test_visual_goes_before_editor(idle, tmp_path):
    number = idle.enqueue("true")
    there = {**idle.environment, "VISUAL": "sed -i s/priority.=.0/priority=6/", "EDITOR": "false"}
    idle.run("edit", str(number), env=there)
    assert idle.row(number, "priority") == 6


def test_ctrl_c_in_the_editor_is_the_editors(idle, tmp_path):
    number = idle.enqueue("true")
    script = f'trap "echo heard" INT; touch {tmp_path}/editing; until [ -e {tmp_path}/go ]; do sleep 0.02; done; echo "priority = 8" > "$1"'
    with Terminal(idle, "edit", str(number), **editor(idle, tmp_path, script)) as terminal:
        eventually((tmp_path / "editing").exists, "the editor is open")
        terminal.type(b"\x03")
        terminal.read(until=b"heard")
        (tmp_path / "go").touch()
        assert terminal.end() == 0
    assert idle.row(number, "priority") == 8


def test_a_job_whose_bytes_are_no_text_is_edited_by_options_only(idle, tmp_path):
    number = idle.add(os.fsdecode(b"echo \xff"))
    done = idle.run("edit", str(number), code=1, env=editor(idle, tmp_path, "true"))
    assert done.stderr == f"slothtray: job {number} has bytes that are no text: change it with options such as -p 5, or add it anew\n"
    assert edited(idle, number, "-p", "5")["priority"] == 5
