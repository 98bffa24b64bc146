"""`slothtray --notify COMMAND`: one notification says what came of it, as a real dunst shows it; all else is as without."""

import configparser
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
import session
from harness import PROGRAM, Home
from told import server

LAUNCHER = Path(__file__).resolve().parent.parent.parent / "packaging" / "linux" / "slothtray.desktop"


@pytest.fixture(scope="module")
def desktop(tmp_path_factory):
    """A session bus, a screen and a notification service."""
    folder = tmp_path_factory.mktemp("desktop")
    with session.message_bus_in(folder) as bus, session.screen() as display, session.dunst(bus, display, folder) as running:
        running.display = display
        yield running


@pytest.fixture
def home(tmp_path, desktop):
    """A queue without an app, whose commands are started on that desktop."""
    made = Home(tmp_path / "queue")
    made.environment.update(DISPLAY=desktop.display, DBUS_SESSION_BUS_ADDRESS=desktop.bus.address)
    yield made
    made.close()


@pytest.fixture
def said(desktop):
    """What the one notification since the last look said: its title and its body; None: there was none."""
    known = {bubble["id"] for bubble in desktop.history()}

    def read():
        bubbles = [bubble for bubble in desktop.history() if bubble["id"] not in known]
        assert len(bubbles) <= 1
        known.update(bubble["id"] for bubble in bubbles)
        return (bubbles[0]["summary"], bubbles[0]["body"]) if bubbles else None

    return read


@pytest.fixture
def copy(home):
    """Put a text into the clipboard of that desktop, for as long as the test lasts."""
    with session.ExitStack() as stack:

        def put(text):
            argv = ["xclip", "-selection", "clipboard", "-quiet", "-i"]
            process = stack.enter_context(session.started(argv, stdin=subprocess.PIPE, env=home.environment))
            process.stdin.write(text.encode())
            process.stdin.close()
            read = ["xclip", "-selection", "clipboard", "-o"]
            session.until(lambda: subprocess.run(read, env=home.environment, capture_output=True, check=False).stdout == text.encode())

        yield put


def exec_lines():
    """The command lines of the launcher, "Entry" itself and its actions by their names."""
    launcher = configparser.ConfigParser(interpolation=None)
    launcher.read(LAUNCHER)
    return {section.removeprefix("Desktop ").removeprefix("Action "): launcher[section]["Exec"] for section in launcher.sections()}


@pytest.fixture
def choose(home, tmp_path):
    """Choose one of the launcher's actions, as a desktop does: its Exec line, word by word, with nobody to read what is said."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "slothtray").write_text(f"#!/bin/sh\nexec {shlex.join(PROGRAM)} \"$@\"\n")
    (folder / "slothtray").chmod(0o755)
    (folder / "xdg-open").write_text(f'#!/bin/sh\ntest -s "$1" || exit 3\necho "$1" > {shlex.quote(str(tmp_path))}/opened\n')
    (folder / "xdg-open").chmod(0o755)
    environment = {**home.environment, "PATH": f"{folder}:{os.environ['PATH']}"}

    def run(name, **options):
        null = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        words = shlex.split(exec_lines()[name])
        return subprocess.run(words, env=environment, cwd=home.work, timeout=50, check=False, **(null | options)).returncode

    return run


NO_APP = "no app is running; it starts when one is (`slothtray`, or `slothtray run`)"


# --- the launcher's own Exec lines -------------------------------------------------------------------------------------


def test_add_from_clipboard_tells_what_was_queued(choose, copy, home, said):
    copy("make -j4 && echo '<b>'\n")
    assert choose("add-from-clipboard") == 0
    assert said() == ("Queued", f"job 1: make -j4 &amp;&amp; echo '&lt;b&gt;'\n{NO_APP}")
    assert json.loads(home.row(1, "command")) == "make -j4 && echo '<b>'"


def test_add_from_clipboard_tells_why_it_refuses(choose, copy, home, said):
    copy("echo \x1b[31m")
    assert choose("add-from-clipboard") == 1
    assert said() == ("The clipboard's text has a control character (U+001B)", "")
    assert not (home.path / "queue.db").exists()


def test_pause_or_resume_tells_which_it_was(choose, said):
    assert choose("pause-or-resume") == 0
    assert said() == ("Paused", "")
    assert choose("pause-or-resume") == 0
    assert said() == ("Resumed", "")


def test_open_log_tells_when_it_can_not_be_opened_and_nothing_when_it_is(choose, home, said, tmp_path):
    assert choose("open-log") == 1
    assert said() == ("There is no log yet", f"no app has run in {home.path}")
    home.path.mkdir()
    log = Path(home.paths.app_log)
    log.touch()
    assert choose("open-log") == 1
    assert said()[1].strip() == f"{log} can't be opened: no program for it is installed"
    log.write_text("words\n")
    assert choose("open-log") == 0
    assert (tmp_path / "opened").read_text() == f"{log}\n"
    assert said() is None


def test_a_start_in_vain_is_told(choose, home, said):
    home.add("true")
    with home.read() as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    assert choose("Entry") == 4
    title, body = said()
    assert "newer" in title + body


# --- any command -------------------------------------------------------------------------------------------------------


def test_the_answer_and_the_exit_code_are_as_without_it(home, said):
    assert home.run("--notify", "add", "true").stdout == "1\n"
    assert said() == ("Queued", f"job 1: true\n{NO_APP}")
    assert json.loads(home.run("--notify", "add", "--json", "true").stdout)["job"]["id"] == 2
    assert said()[0] == "Queued"
    refused = home.run("--notify", "show", "9", "--json", code=1)
    assert json.loads(refused.stdout)["error"]["code"] == "unknown-job"
    assert said()[0].startswith("There is no job 9")


@pytest.mark.parametrize(
    ("words", "code", "title", "body"),
    [
        (["list"], 0, "Waiting (no app is running), 1 pending", "1 pending x: true"),
        (["cancel", "1"], 0, "Done: slothtray cancel 1", ""),
        (["cancel", "7"], 1, "There is no job 7", ""),
        (["resume"], 0, "The queue was not paused", ""),
        (["add", "--label", "x", "--unique", "true"], 0, "Job 1 of that label waits or runs already; nothing was added", NO_APP),
        (["add", "--at", "never", "true"], 2, "'never' is not a time", ""),
        (["nothing"], 2, "There is no command 'nothing'", "see `slothtray --help`"),
        (["--what"], 2, "There is no option --what", "see `slothtray --help`"),
        (["--help"], 0, None, None),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_came_of_a_command_is_told_in_one_notification(home, said, words, code, title, body):
    home.add("--label", "x", "true")
    home.run("--notify", *words, code=code)
    told = said()
    if title is None:
        assert told is None
    else:
        assert told[0].startswith(title)
        assert body in told[1]


def test_lines_of_standard_input_are_counted(home, said):
    with (home.work / "lines").open("w+") as lines:
        lines.write("true\nfalse\n")
        lines.seek(0)
        assert home.run("--notify", "add", "-q", "-", stdin=lines).stdout == "1\n2\n"
    assert said() == ("Queued 2 jobs", "job 1: true\njob 2: false")


def test_a_refusal_too_long_for_a_title_is_whole_in_the_body(home, said):
    folder = home.work / ("long" * 20)
    home.run("--notify", "add", "--cwd", str(folder), "true", code=2)
    title, body = said()
    assert len(title) == 63
    assert body.strip() == f"--cwd {folder} is not a folder"


def test_the_folder_may_be_named_before_or_after_it(home, said, tmp_path):
    for words in (["--home", str(tmp_path / "a"), "--notify"], ["--notify", f"--home={tmp_path / 'b'}"]):
        home.run(*words, "pause")
        assert said() == ("Paused", "")
    assert (tmp_path / "a" / "queue.db").exists()
    assert (tmp_path / "b" / "queue.db").exists()


def test_the_doctors_own_option_is_another(home, said):
    """That one only asks whether notifications come at all; without the one before the command nothing more is shown."""
    home.run("doctor", "--notify", code=None)
    assert "slothtray" in said()[0]


def test_it_is_no_commands_option_and_its_place_is_told(home, said):
    for words, hint in ((["--notify"], "--notify"), (["--home", "/x"], "--home DIR")):
        refused = home.run("pause", *words, code=2)
        assert refused.stderr.endswith(f"it comes before the command: `slothtray {hint} pause`\n")
    assert said() is None


def test_an_app_that_can_not_start_is_told_once(home, said):
    home.start()
    home.run("--notify", code=3)
    assert said() == ("slothtray is already running: nothing waiting", "`slothtray list` shows the queue.")


# --- services that are not there, or no good ---------------------------------------------------------------------------


def test_without_a_service_that_is_said_and_nothing_else_changes(home, tmp_path):
    with session.message_bus_in(tmp_path) as bus:
        home.environment["DBUS_SESSION_BUS_ADDRESS"] = bus.address
        added = home.run("--notify", "add", "-q", "true")
    assert (added.stdout, added.stderr.count("\n")) == ("1\n", 1)
    assert added.stderr.startswith("slothtray: no notification was shown: no notification service is running: ")
    home.environment["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path={tmp_path}/none"
    refused = home.run("--notify", "cancel", "7", code=1)
    assert "no notification was shown: the session bus can't be reached" in refused.stderr


def test_a_service_that_hangs_is_not_waited_for_longer_than_its_limit(home, tmp_path):
    with session.message_bus_in(tmp_path) as bus, server(bus, Notify=lambda *_: None):
        home.environment["DBUS_SESSION_BUS_ADDRESS"] = bus.address
        begun = time.monotonic()
        done = home.run("--notify", "pause")
    assert done.stdout == "paused\n"
    assert done.stderr == "slothtray: no notification was shown: the notification service did not answer within 3 s\n"
    assert time.monotonic() - begun < 20


def test_without_it_nothing_is_imported_for_it(home):
    code = "import sys; from slothtray.__main__ import main; main(); print(*sorted(sys.modules), file=sys.stderr)"
    ran = subprocess.run(
        [sys.executable, "-c", code, "pause"], env=home.environment, cwd=home.work, capture_output=True, text=True, check=True
    )
    assert not {"slothtray.cli.announce", "slothtray.system.notify", "plyer"} & set(ran.stderr.split())
