"""Text that would do something to a terminal, a menu or a log file: whatever the database holds, it is shown and does nothing."""

import json
import logging
import re
import shlex

import pytest
from harness import Home
from hypothesis import given
from hypothesis import strategies as st
from ptys import SGR, shown

from slothtray import notices
from slothtray.cli import render
from slothtray.config import defaults
from slothtray.model import Event, Face, Job, Snapshot, State
from slothtray.notices import News
from slothtray.paths import Paths
from slothtray.store.rows import encode
from slothtray.system.applog import Harmless
from slothtray.system.doorbell import Doorbell
from slothtray.system.notify import PlyerNotifier
from slothtray.text import clean
from slothtray.tray import menu
from slothtray.tray.menu import Clipping, Notes

PIECES = [
    *("\x1b[2J", "\x1b]52;c;cm0gLXJmIH4=\x07", "\x1b]0;owned\x1b\\", "\x1b[6n", "\x1bP$q\x1b\\", "\x1b(0", "\x1bc", "\x1b"),
    *("\x9b31m", "\x9d0;c1\x9c", "\x84", "\x07", "\x08\x08", "\r", "\n", "\x0b", "\x7f", "\x00", "\t", "\u2028", "\x85"),
    *("\u202egpj.sh", "\u2066", "\u200f", "\u200b", "\ufeff", "\U000e0041", "\udc80", "\udcff", "make", " ", "ü", "日", "🦥", "&<b>", "%n", "_"),
]
NASTY = "".join(PIECES)
nasty_texts = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)


def is_harmless(text, *, lines=True):
    """Whether nothing in it does anything to a terminal but begin a new line."""
    return all(one.isprintable() or one in "\u200c\u200d" or (lines and one == "\n") for one in text)


# --- what is made of a job: pure ---------------------------------------------------------------------------------------------------


def job(text, **fields):
    """A job all of whose texts are that."""
    empty = dict.fromkeys(Job._fields)
    usual = {"id": 7, "state": State.FAILED, "attempts": 1, "failures": 0, "unstarted": 0, "not_before": 0.0, "priority": 0, "interruptions": 0}
    texts = dict.fromkeys(("command", "label", "cwd", "message", "reason"), text)
    return Job(**{**empty, **usual, **texts, "argv": (text, "x"), "dropped": (text,), "created_at": 1.0, "finished_at": 2.0, **fields})


@given(nasty_texts, st.sampled_from(State))
def test_a_list_and_all_about_a_job_are_harmless_text(text, state):
    one = job(text, state=state)
    what = render.what_of(one, 10.0, text)
    row = render.Row(one.state, "7", "", "0", render.name_of(one), what)
    assert is_harmless(render.table([row], 80))
    assert is_harmless(render.job_text(one, [Event(1, 7, 1.0, text, text)], Paths("/tmp/" + text.replace("\0", "")), 10.0, text))
    assert render.table([row], 80).count("\n") == 1


@given(nasty_texts)
def test_json_is_ascii_with_every_control_character_escaped(text):
    made = json.dumps(render.job_json(job(text), Paths("/q"), defaults(1.0)))
    assert made.isascii()
    assert is_harmless(made.replace("\x7f", ""), lines=False)
    assert json.loads(made)["command"] == text


@given(nasty_texts, st.sampled_from(Face))
def test_menu_and_tooltip_are_harmless_text(text, face):
    one = job(text, state=State.RUNNING)
    held = (job(text, state=State.HELD),)
    snapshot = Snapshot(face, text, one, (one,), (job(text),), 1, 1, 1, False, None, None, text, held, 10.0)
    notes = Notes((notices.notice_of(News("failed", 7, text, text, (text,))),), text, Clipping(text, text))
    todo = list(menu.build(snapshot, notes))
    for entry in todo:
        assert is_harmless(entry.label, lines=False)
        todo += entry.submenu
    assert is_harmless(menu.tooltip(snapshot, notes), lines=False)


@given(nasty_texts, st.sampled_from(["failed", "held", "done", "retry", "reclaimed"]))
def test_a_notification_is_harmless_text(text, kind):
    arguments = PlyerNotifier()._arguments(notices.notice_of(News(kind, 7, text, text, (text, text))))
    assert is_harmless(arguments["title"], lines=False)
    assert is_harmless(arguments["message"])


@given(nasty_texts)
def test_what_is_clean_is_harmless_and_stays_so(text):
    assert is_harmless(clean(text), lines=False)
    assert clean(clean(text)) == clean(text)


# --- the app's own log --------------------------------------------------------------------------------------------------------------


def line_of(message, *words, error=None):
    """What the app's log gets."""
    info = (type(error), error, error.__traceback__) if error is not None else None
    record = logging.LogRecord("slothtray.x", logging.INFO, __file__, 1, message, words, info)
    return Harmless("%(levelname)s %(name)s: %(message)s").format(record)


@given(nasty_texts)
def test_a_message_in_the_apps_log_stays_one_line_and_moves_no_terminal(text):
    line = line_of("job %d: %s", 7, text)
    assert is_harmless(line, lines=False)
    assert line.startswith("INFO slothtray.x: job 7:")


def test_nobody_can_forge_a_line_of_the_apps_log_and_a_traceback_stays_readable():
    assert "\n" not in line_of("%s", "x\n2026-11-30 12:00:00,000 INFO slothtray: all is well")
    try:
        raise ValueError("a\x1b[2Jb")
    except ValueError as error:
        lines = line_of("it failed", error=error).split("\n")
    assert lines[1] == "Traceback (most recent call last):"
    assert lines[2].startswith('  File "')
    assert lines[-1] == "ValueError: a␛[2Jb"


# --- through a real terminal: a database full of it -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def poisoned(tmp_path_factory):
    """A queue in whose database every text is nasty, and an app that is said to run (its bell hangs)."""
    home = Home(tmp_path_factory.mktemp("poisoned") / "queue")
    ids = {state: home.enqueue("true") for state in ("pending", "held", "failed", "cancelled", "running")}
    waiting = home.enqueue("true")
    text = NASTY.replace("\udc80", "").replace("\udcff", "")  # SQLite's own texts are UTF-8
    with home.read() as connection:
        for state, number in ids.items():
            connection.execute("UPDATE jobs SET state = ?, run = '5-0', finished_at = 5 WHERE id = ?", (state, number))
        connection.execute(
            "UPDATE jobs SET command = ?, argv = ?, cwd = ?, dropped = ?, label = ?, message = ?, reason = ?",
            (encode(NASTY), encode([NASTY, NASTY]), encode(NASTY), encode([NASTY]), text, text, text),
        )
        connection.execute("UPDATE events SET kind = ?, detail = ?", (text, text))
        connection.execute("UPDATE jobs SET after = 1, not_before = 9e999 WHERE id = ?", (waiting,))
        connection.execute("UPDATE queue SET reason = ?, gate = 'load', state = 'waiting', remark = ?", (text, text))
    connection.close()
    doorbell = Doorbell(home.paths)
    yield home, {**ids, "waiting": waiting}
    doorbell.close()


COMMANDS = ["list", "why", *(f"show {state}" for state in ("pending", "held", "failed", "running", "waiting")), "why pending", "why held", "why failed"]


@pytest.mark.parametrize("words", COMMANDS)
def test_nothing_in_a_database_does_anything_to_a_terminal(poisoned, words):
    home, ids = poisoned
    said = shown(home, *(str(ids.get(word, word)) for word in words.split()), COLUMNS="200")
    assert is_harmless(SGR.sub("", said))
    assert "owned" in said, "nothing of it was shown"


@pytest.mark.parametrize("words", ["list --json", "show failed --json", "why held --json"])
def test_nor_does_its_json(poisoned, words):
    home, ids = poisoned
    said = shown(home, *(str(ids.get(word, word)) for word in words.split()))
    assert is_harmless(said.replace("\x7f", ""))
    assert json.loads(said)["version"] == 1


@pytest.mark.parametrize("words", ["wait held", "wait failed", "cancel failed", "hold running", "edit running -p 1", "log failed", "start held"])
def test_nor_do_refusals(poisoned, words):
    home, ids = poisoned
    said = shown(home, *(str(ids.get(word, word)) for word in words.split()), code=1)
    assert is_harmless(said.replace("\r", ""))
    assert said


# --- a folder, an option, a file with such a name --------------------------------------------------------------------------------------


def test_a_path_is_shown_harmlessly_on_a_terminal_and_byte_for_byte_in_a_pipe(tmp_path):
    home = Home(tmp_path / "queue")
    odd = f"{tmp_path}/odd\x1b[2J  name"
    home.environment["SLOTHTRAY_HOME"] = odd
    home.add("true")
    for words, path in ((["log", "--path", "1"], f"{odd}/logs/1.log"), (["config", "path"], f"{odd}/config.toml")):
        assert is_harmless(shown(home, *words))
        assert home.run(*words).stdout == path + "\n"


def test_what_was_typed_wrong_is_repeated_harmlessly(tmp_path):
    home = Home(tmp_path / "queue")
    home.add("true")
    for words in (["add", "--frob\x1b[2J", "true"], ["list", "--state", NASTY.replace("\0", "")], ["config", "set", "x\x1b[2J", "1"], ["add", "--env", "\x1b[2J", "true"]):
        assert is_harmless(shown(home, *words, code=2)), words


def test_names_of_variables_are_told_harmlessly(tmp_path):
    home = Home(tmp_path / "queue")
    said = shown(home, "add", "true", **{"\x1b[2J\u202e_TOKEN": "x"})
    assert "_TOKEN" in said
    assert is_harmless(said)


def test_a_config_full_of_it_is_told_harmlessly(tmp_path):
    home = Home(tmp_path / "queue")
    home.run("config", "path")
    (home.path / "config.toml").write_text('keep_env = ["a\\u001b[2J\\u202e"]\n"\\u001b[2J" = 1\n')
    for words in (["config"], ["config", "get", "keep_env"], ["list"]):
        assert is_harmless(shown(home, *words, code=0 if words == ["list"] else 2))


def test_the_runner_in_a_terminal_tells_of_jobs_harmlessly(tmp_path):
    home = Home(tmp_path / "queue")
    home.add(f": {shlex.quote(NASTY.replace(chr(0), ''))}; exit 3")
    home.add("--", "no\x1b[2Jsuch\x9b31m")
    said = shown(home, "run", "--until-empty", "--ceiling", "off", "--cooldown", "0.01", code=1)
    assert "job 2 failed" in said
    assert is_harmless(re.sub(r"\r +\r", "", said))  # a wait that was shown is wiped out
    home.close()
