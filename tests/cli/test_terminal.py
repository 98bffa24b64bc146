"""What reaches a terminal: text and colours, and those only where they are wanted. What goes through a pipe is left alone."""

import os
import re
import shlex
import subprocess
import unicodedata

import pytest
from harness import PROGRAM
from hypothesis import example, given
from hypothesis import strategies as st
from ptys import SGR, Terminal, plain, screen, shown

from slothtray.terminal import LONGEST, TerminalFilter

NASTY = b"".join(
    (
        b"\x1b[2J\x1b[H",  # clears the screen
        b"\x1b]0;owned\x07",  # sets the window's title
        b"\x1b]52;c;cm0gLXJmIH4=\x1b\\",  # writes the clipboard
        b"\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\",
        b"\x1bP$q\"p\x1b\\\x1b[6n\x1b[c",  # makes the terminal type an answer
        b"\x1b[?1049h\x1b[?25l\x1bc\x1b(0",
        "\x9b31m\x9d0;c1\x9c".encode(),  # the same, in one character each
        b"\x07\x08\x08\x0b\x0c\x0e\x0f\x7f",
        "\u202egpj.sh\u2066".encode(),  # turns the reading round
        b"over\rwrite\r\n",
    )
)
"""What a terminal must not be given."""


def harmless(text):
    """Whether a text has nothing but characters that show, line ends, tabs and colours."""
    return all(one.isprintable() or one in "\n\t\u200c\u200d" or unicodedata.category(one) == "Zs" for one in SGR.sub("", text))


# --- the filter ------------------------------------------------------------------------------------------------------------------


def filtered(*pieces, colours=True):
    """What the filter makes of these pieces."""
    made = TerminalFilter(colours=colours)
    return "".join([*(made.feed(piece) for piece in pieces), made.feed(b"", last=True)])


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"plain \xc3\xbc\n", "plain ü\n"),
        (b"\x1b[1;31mred\x1b[0m\x1b[38:2::1:2:3mx\x1b[m", "\x1b[1;31mred\x1b[0m\x1b[38:2::1:2:3mx\x1b[m"),
        (b"10%\r20%\r\n30%\r\r\nend\r", "10%\n20%\n30%\nend\n"),
        (b"a\r\x1b[Kb\r\x1b[0m\nc", "a\nb\n\x1b[0mc"),
        (b"\x1b]0;never ends\nshown", "0;never ends\nshown"),
        (b"\x1b]0;over\nlines\x07", "0;over\nlines"),
        (b"a\x1b[31", "a31"),
        (b"\x1b\x1b[31mx\x1b\xc3\xa9\x1b", "\x1b[31mxé"),
        ("10\u202f000\xa0€ \u200dx".encode(), "10\u202f000\xa0€ \u200dx"),
        (b"\xff\xc3(", "\ufffd\ufffd("),
        (b"\x1b]" + b"x" * LONGEST + b"\x07|", "|"),
        (b"\x1b]" + b"x" * (LONGEST + 1) + b"\x07|", "x" * (LONGEST + 1) + "|"),
    ],
)
def test_what_comes_through_the_filter(data, text):
    assert filtered(data) == text
    assert filtered(*(bytes([byte]) for byte in data)) == text


def test_without_colours_not_even_those_come_through():
    assert filtered(b"\x1b[31mred\x1b[0m", colours=False) == "red"


PARTS = st.sampled_from(
    [b"\x1b", b"[", b"]", b"31m", b"0;", b"?25h", b"\x07", b"\\", b"\r", b"\n", b"\x1b[0m", b"\x1b]8;;x", b"P", b"(", b"a", b"\xc3", b"\xa9", b"\xc2\x9b", b"\xe2\x80\xae", b" "]
)
STREAMS = st.one_of(st.binary(max_size=80), st.lists(PARTS, max_size=40).map(b"".join), st.text(max_size=40).map(lambda text: text.encode(errors="replace")))


@given(STREAMS, st.lists(st.integers(0, 200), max_size=6), st.booleans())
@example(b"\x1b[3\nx", [4], True)
@example(NASTY, [1, 2, 3], True)
def test_cut_anywhere_it_is_the_same_text_and_no_escape_but_of_colours_survives(data, cuts, colours):
    places = sorted(cut % (len(data) + 1) for cut in cuts)
    pieces = [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]
    text = filtered(*pieces, colours=colours)
    assert text == filtered(data, colours=colours)
    assert harmless(text)
    assert colours or "\x1b" not in text
    assert "\x1b" not in plain(text)


@given(STREAMS)
def test_filtering_what_was_filtered_changes_nothing(data):
    once = filtered(data)
    assert filtered(once.encode()) == once


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=60))
def test_ordinary_text_comes_through_as_it_is(text):
    assert filtered(text.encode()) == text


# --- through a real terminal -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def nasty(running):
    """A job whose command, output and failure are full of what a terminal must not be given."""
    command = f"cat nasty; : {shlex.quote(NASTY.decode())}; exit 9"
    (running.work / "nasty").write_bytes(NASTY)
    number = running.add("--", "/bin/sh", "-c", command)
    running.wait_for(number, "failed")
    return running, number


@pytest.mark.parametrize("words", [["list"], ["show", "ID"], ["why", "ID"], ["log", "ID"], ["log", "-f", "ID"], ["log", "-n", "3", "ID"], ["wait", "ID"]], ids=" ".join)
def test_nothing_but_text_and_colours_reaches_a_terminal(nasty, words):
    home, number = nasty
    said = shown(home, *(str(number) if word == "ID" else word for word in words), code=1 if words[0] == "wait" else 0)
    said = said.replace("\r", "") if words[0] == "wait" else said  # its progress is written over
    assert harmless(said)
    assert "owned" not in said or words[0] != "log"
    assert len(said) > 5


def test_errors_too_repeat_nothing_that_would_do_something(nasty):
    home, _ = nasty
    assert harmless(shown(home, "--home", "/proc/\x1b]0;owned\x07/x", "list", code=4))
    assert harmless(shown(home, "\x1b[2J", code=2))
    assert harmless(shown(home, "show", "\x1b[2J", code=2))
    assert harmless(shown(home, "add", "--cwd", "/\x1b[2J", "true", code=2))


def test_a_program_that_could_not_be_started_has_a_harmless_message(running):
    number = running.add("--", "no\x1b[2Jsuch")
    running.wait_for(number, "failed")
    for words in (["list"], ["show", str(number)]):
        assert harmless(shown(running, *words))


def test_a_log_shows_its_text_and_its_colours_and_gives_the_terminal_back_as_it_was(nasty):
    home, number = nasty
    said = shown(home, "log", str(number))
    assert said.split() == ["link31m0;c1gpj.shover", "write"]
    red = home.add("printf '\\033[31mred'")
    home.wait_for(red, "done")
    assert shown(home, "log", str(red)) == "\x1b[31mred\x1b[0m"


PLAIN_TERMINALS = [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": None}]


@pytest.mark.parametrize("unwilling", PLAIN_TERMINALS, ids=str)
def test_there_are_no_colours_on_a_terminal_that_does_not_want_them(running, unwilling):
    red = running.add("printf '\\033[31mred\\033[0m\\n'; exit 1")
    running.wait_for(red, "failed")
    assert "\x1b[31mfailed" in shown(running, "list")
    assert "\x1b" not in shown(running, "list", **unwilling)
    assert shown(running, "log", str(red), **unwilling) == "red\n"
    assert shown(running, "log", str(red), NO_COLOR="") == "\x1b[31mred\x1b[0m\n\x1b[0m"  # empty is unset: no-color.org


def test_each_state_has_its_colour_and_the_columns_stay_where_they_are(running):
    held = running.add("--hold", "true")
    coloured, without = shown(running, "list"), shown(running, "list", NO_COLOR="1")
    assert "\x1b[35mheld" in coloured
    ages = re.compile(r"[\d.]+ (s|min)( \d+ s)? ago|just now")
    assert [ages.sub("", line).rstrip() for line in plain(coloured).splitlines()] == [ages.sub("", line).rstrip() for line in without.splitlines()]
    running.run("cancel", str(held))


def test_into_a_pipe_go_no_colours_of_ours_and_all_bytes_of_the_jobs(nasty):
    home, number = nasty
    assert "\x1b" not in home.run("list").stdout
    assert "\x1b" not in home.run("show", str(number)).stdout
    done = subprocess.run([*PROGRAM, "log", str(number)], env=home.environment, capture_output=True, check=True)
    assert done.stdout == NASTY


def test_a_person_at_a_terminal_is_told_what_was_kept_out_of_the_job_and_a_script_is_not(idle):
    said = shown(idle, "add", "true", API_TOKEN="t", MY_PASSWORD="p")
    assert "kept out of the job, as it looks secret: API_TOKEN, MY_PASSWORD (--env NAME keeps it)\n" in said
    assert "kept out" not in idle.run("add", "true", env={**idle.environment, "API_TOKEN": "t"}).stderr
    assert re.fullmatch(r"\d+\n", shown(idle, "add", "-q", "true", API_TOKEN="t"))


# --- terminals and pipes that are odd -----------------------------------------------------------------------------------------------


def shell(home, script, code=0, **environment):
    """A shell that starts us in an odd way: `$@` is the program."""
    env = {name: value for name, value in {**home.environment, **environment}.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(["bash", "-c", script, "bash", *PROGRAM], env=env, cwd=home.work, capture_output=True, timeout=60, check=False)
    assert b"Traceback" not in done.stderr
    assert done.returncode == code, done
    return done


def test_an_encoding_that_lacks_a_character_loses_only_that(idle):
    number = idle.add("--label", "ü→", "true")
    done = shell(idle, f'"$@" show {number}', PYTHONIOENCODING="latin-1", PYTHONUTF8="0")
    assert b"\xfc?" in done.stdout


def test_a_folder_of_any_bytes_is_printed_as_it_is(idle):
    folder = os.fsencode(idle.work) + b"/\xff"
    done = subprocess.run([*PROGRAM, "--home", folder, "add", "true"], env=idle.environment, capture_output=True, check=True)
    assert done.stdout == b"1\n"
    done = subprocess.run([*PROGRAM, "--home", folder, "log", "--path", "1"], env=idle.environment, capture_output=True, check=True)
    assert done.stdout == folder + b"/logs/1.log\n"


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_closed_standard_streams_change_nothing(idle, closed):
    before = idle.enqueue("true")
    shell(idle, f'"$@" add true {closed}')
    assert idle.row(before, "(SELECT max(id) FROM jobs)") == before + 1
    shell(idle, f'"$@" list {closed}')
    shell(idle, f'"$@" show 99999 {closed}', code=1)


def test_a_full_disk_behind_standard_output_is_one_line(idle):
    number = idle.enqueue("true")
    for words in ("list", "list --json", f"show {number}", "--help", "add --help"):
        done = shell(idle, f'"$@" {words} > /dev/full', code=4)
        assert done.stderr == b"slothtray: the output: No space left on device\n"


def test_a_full_disk_behind_standard_error_changes_nothing_of_what_is_done(idle):
    done = shell(idle, '"$@" add true 2> /dev/full')
    assert idle.row(int(done.stdout)) == "pending"
    shell(idle, f'"$@" retry {int(done.stdout)} 2> /dev/full', code=1)
    shell(idle, f'"$@" cancel {int(done.stdout)} 2> /dev/full')
    shell(idle, '"$@" list --state x 2> /dev/full', code=2)


def test_ctrl_c_before_anything_is_parsed_is_130_too(idle, tmp_path):
    (tmp_path / "argparse.py").write_text("raise KeyboardInterrupt\n")
    done = subprocess.run([*PROGRAM, "list"], env={**idle.environment, "PYTHONPATH": str(tmp_path)}, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_a_defect_is_one_line_and_its_traceback_goes_to_the_apps_log(idle, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import slothtray.store.reading as r\ndef f(*a): raise KeyError('oh')\nr.listed = f\n")
    done = idle.run("list", code=1, env={**idle.environment, "PYTHONPATH": f"{tmp_path}:{os.getcwd()}"})
    assert done.stderr == f"slothtray: this is a defect of slothtray (KeyError: 'oh'): its traceback is in {idle.paths.app_log}\n"
    log = idle.path / "app.log"
    assert "Traceback" in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


# --- the plain runner on a terminal ----------------------------------------------------------------------------------------------


def test_a_wait_for_the_load_says_what_to_do_once_and_its_looks_write_over_each_other(home):
    home.set_load(5.0)
    number = home.enqueue("true")
    with Terminal(home, "run", "--ceiling", "2", "--interval", "0.1s", "--cooldown", "0", "--until-empty") as terminal:
        terminal.read(until=b"load 5.00 > 2.00")
        home.set_load(4.0)
        terminal.read(until=b"load 4.00 > 2.00")
        home.set_load(0.0)
        assert terminal.end() == 0
    left = [re.sub(r"^\d\d:\d\d:\d\d ", "", line.rstrip()) for line in screen(terminal.written.decode()) if line.strip()]
    advice = "slothtray: the machine is busy: `slothtray start ID` starts a job anyway, `slothtray config set ceiling N` moves the limit"
    assert left == [advice, f"job {number} started: true", f"job {number} done: ok"]


def test_a_runner_that_is_stopped_while_it_waits_leaves_no_line_behind(home):
    home.set_load(5.0)
    home.enqueue("true")
    with Terminal(home, "run", "--ceiling", "2") as terminal:
        terminal.read(until=b"load 5.00 > 2.00")
        terminal.type(b"\x03")
        terminal.end()
    assert "waiting" not in "".join(screen(terminal.written.decode()))
