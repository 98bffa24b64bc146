"""`slothtray log`: the bytes as they are, the last lines, and what is still to come."""

import os
import signal
import subprocess
import sys
import tempfile

import pytest
from harness import PROGRAM, eventually
from hypothesis import given
from hypothesis import strategies as st
from ptys import Terminal, beside, shown

from slothtray.system import tail


def written(home, data, **limits):
    """A job that is over and has written these bytes; its id."""
    number = home.enqueue("true", **limits)
    with home.read() as connection:
        connection.execute("UPDATE jobs SET state = 'done', finished_at = 1e9 WHERE id = ?", (number,))
    connection.close()
    (home.path / "logs").mkdir(exist_ok=True)
    (home.path / "logs" / f"{number}.log").write_bytes(data)
    return number


def log(home, *words, code=0):
    """The bytes that it prints into a pipe."""
    done = subprocess.run(
        [*PROGRAM, "log", *map(str, words)], env=home.environment, cwd=home.work, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == code, done.stderr
    assert b"Traceback" not in done.stderr
    return done.stdout


ODD = b"plain\n\xff\xfe\x00\x1b[31mred\x1b]0;title\x07\r\nno end"


def test_into_a_pipe_the_bytes_come_as_they_are(idle):
    assert log(idle, written(idle, ODD)) == ODD


@pytest.mark.parametrize(
    ("data", "count", "last"),
    [
        (b"a\nb\nc\n", 2, b"b\nc\n"),
        (b"a\nb\nc", 2, b"b\nc"),
        (b"a\nb\nc\n", 9, b"a\nb\nc\n"),
        (b"a\n\n\n", 2, b"\n\n"),
        (b"a\nb\n", 0, b""),
        (b"", 3, b""),
        (b"1%\r50%\r100%\ndone\n", 2, b"100%\ndone\n"),  # a progress bar's states are lines, as they are on a terminal
        (b"a\r\nb\r\n", 1, b"b\r\n"),
    ],
)
def test_the_last_lines(idle, data, count, last):
    number = written(idle, data)
    assert log(idle, "-n", count, number) == last


@given(st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\r\n", b"word"]), max_size=60).map(b"".join), st.integers(0, 12), st.integers(1, 8))
def test_the_last_lines_are_the_same_however_the_file_falls_into_blocks(data, count, block):
    lines = data.splitlines(keepends=True)  # of bytes: ends at \n, \r and \r\n
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        before, tail.BLOCK = tail.BLOCK, block
        try:
            place = tail.place_of_last(file.name, count)
        finally:
            tail.BLOCK = before
    assert data[place:] == b"".join(lines[-count:] if count else [])


def test_the_end_of_a_huge_log_without_a_line_break_takes_little_memory(idle):
    number = written(idle, b"")
    with (idle.path / "logs" / f"{number}.log").open("r+b") as file:
        file.truncate(100_000_000)
        file.seek(0, os.SEEK_END)
        file.write(b"x\nlast\n")
    assert log(idle, "-n", "1", number) == b"last\n"
    words = [sys.executable, "-c", MEASURE, "log", "-n", "5", str(number)]
    done = subprocess.run(words, env=idle.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60, check=True)
    assert int(done.stderr) < 64_000


# Not ru_maxrss: that of the process which started it, here pytest, is carried over an exec.
MEASURE = """
import re, sys
from slothtray.__main__ import main
main()
with open("/proc/self/status") as status:
    print(re.search(r"VmHWM:\\s+(\\d+)", status.read())[1], file=sys.stderr)
"""


# --- following -----------------------------------------------------------------------------------------------------------------


def test_case_30_following_waits_for_the_start_prints_line_by_line_and_ends_with_the_job(home, tmp_path):
    number = home.add(f"for i in 1 2 3; do echo line $i; until [ -e {tmp_path}/$i ]; do sleep 0.02; done; done; printf end; exit 3")
    with beside(home, "log", "-f", str(number)) as process:
        said = process.stderr.readline().decode()
        assert said == (
            f"slothtray: job {number} is pending; what it writes will be shown here; no app is running (`slothtray`, or `slothtray run`)\n"
        )
        home.start()
        for place in "123":
            assert process.stdout.readline() == f"line {place}\n".encode()
            assert process.poll() is None
            (tmp_path / place).touch()
        assert process.stdout.read() == b"end"
        assert process.wait(20) == 0
        assert process.stderr.read() == b""
        assert home.row(number) == "failed"
        assert home.row(number, "seen") == 1


def test_following_with_last_lines_begins_with_those(running, go):
    number = running.add(f"seq 20; touch {go}.on; until [ -e {go} ]; do sleep 0.02; done; echo more")
    eventually(go.with_suffix(".on").exists, "it has written")
    with beside(running, "log", "-f", "-n", "2", str(number)) as process:
        assert [process.stdout.readline() for _ in range(2)] == [b"19\n", b"20\n"]
        go.touch()
        assert process.stdout.read() == b"more\n"
        assert process.wait(20) == 0


def test_following_goes_on_over_all_attempts(running):
    number = running.add("--attempts", "2", "echo try $SLOTHTRAY_ATTEMPT; exit 5")
    lines = log(running, "--follow", number).decode().splitlines()
    assert lines[0] == "try 1"
    assert lines[1].startswith("--- attempt 2, ")
    assert lines[2] == "try 2"


def test_following_a_job_that_is_over_prints_it_and_ends(idle):
    assert log(idle, "-f", written(idle, ODD)) == ODD
    number = written(idle, b"")
    (idle.path / "logs" / f"{number}.log").unlink()
    assert log(idle, "-f", number) == b""


def test_ctrl_c_ends_following_with_130_and_leaves_the_job_alone(running, go):
    number = running.add(f"echo begun; until [ -e {go} ]; do sleep 0.02; done")
    with Terminal(running, "log", "-f", str(number)) as terminal:
        terminal.read(until=b"begun")
        terminal.type(b"\x03")
        assert terminal.end() == 130
        assert terminal.written.endswith(b"begun\n")
    assert running.row(number) == "running"
    go.touch()


# --- the file itself -----------------------------------------------------------------------------------------------------------


def test_path_prints_where_it_is_even_before_it_is_there_and_marks_nothing_as_seen(idle):
    number = idle.enqueue("true")
    assert idle.run("log", "--path", str(number)).stdout == idle.paths.log(number) + "\n"


def test_open_hands_it_to_the_desktops_program(idle, tmp_path):
    opener = tmp_path / "xdg-open"
    opener.write_text(f'#!/bin/sh\nprintf %s "$1" > {tmp_path}/opened.new; mv {tmp_path}/opened.new {tmp_path}/opened\n')
    opener.chmod(0o755)
    number = written(idle, b"text")
    there = {**idle.environment, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert idle.run("log", "--open", str(number), env=there).stdout == ""
    eventually((tmp_path / "opened").exists, "it is opened")
    assert (tmp_path / "opened").read_text() == idle.paths.log(number)
    done = idle.run("log", "--open", str(number), code=1, env={**idle.environment, "PATH": str(tmp_path / "nowhere")})
    assert "xdg-open is missing" in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_an_id_it_is_the_apps_own_log(home, tmp_path):
    app_log = home.paths.app_log
    assert home.run("log", "--path").stdout == app_log + "\n"
    for words in ([], ["--open"]):
        assert home.run("log", *words, code=1).stderr == f"slothtray: there is no log yet: no app has run in {home.path}\n"
    home.path.mkdir()
    (home.path / "app.log").write_bytes(ODD)
    assert log(home) == ODD
    assert log(home, "-n", "1") == ODD[-6:]
    opener = tmp_path / "xdg-open"
    opener.write_text(f'#!/bin/sh\nprintf %s "$1" > {tmp_path}/opened.new; mv {tmp_path}/opened.new {tmp_path}/opened\n')
    opener.chmod(0o755)
    home.run("log", "--open", env={**home.environment, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    eventually((tmp_path / "opened").exists, "it is opened")
    assert (tmp_path / "opened").read_text() == app_log
    assert "--follow needs the ID of a job" in home.run("log", "-f", code=2).stderr


def test_a_log_that_may_not_be_read_is_one_line(idle):
    number = written(idle, b"text")
    log_file = idle.path / "logs" / f"{number}.log"
    log_file.unlink()
    log_file.mkdir()
    done = idle.run("log", str(number), code=4)
    assert done.stderr == f"slothtray: {log_file}: Is a directory\n"


def test_what_has_written_nothing_says_so_and_that_it_can_be_waited_for_if_it_can(idle):
    number = idle.enqueue("true")
    said = idle.run("log", str(number), code=1).stderr
    assert said == f"slothtray: job {number} has written nothing (pending): `slothtray log -f {number}` waits for it\n"
    idle.run("cancel", str(number))
    assert idle.run("log", str(number), code=1).stderr == f"slothtray: job {number} has written nothing (cancelled)\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["-n", "-1", "1"], "-n -1 makes no sense"),
        (["-n", "x", "1"], "'x' is not a whole number"),
        (["-f", "--path", "1"], "--follow and --path don't go together"),
        (["--open", "--path", "1"], "--path and --open don't go together"),
        (["--open", "-n", "3", "1"], "--open and --lines don't go together"),
        (["1", "2"], "takes one ID, not 2"),
        (["--tail", "1"], "`slothtray log` has no option --tail"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_options_are_one_line(idle, words, told):
    idle.enqueue("true")
    done = idle.run("log", *words, code=2)
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert told in done.stderr


# --- closed pipes --------------------------------------------------------------------------------------------------------------


def piped(home, words, head):
    """A command into a `head`: its exit code and what it said on stderr."""
    script = f'"$@" 2>{home.work}/said | {head} >/dev/null; echo ${{PIPESTATUS[0]}}'
    buffered = {name: value for name, value in home.environment.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(["bash", "-c", script, "bash", *PROGRAM, *words], env=buffered, cwd=home.work, capture_output=True, text=True, timeout=60, check=True)
    return int(done.stdout), (home.work / "said").read_text()


def test_a_reader_that_has_enough_ends_it_quietly(idle):
    number = written(idle, b"0123456789abcde\n" * 655_360)
    some = [["log", "-n", "200000", str(number)], ["list"], ["list", "--json"], ["--help"], ["add", "--help"]]
    for words, head in [(["log", str(number)], "head -n 1"), *((words, "head -c 0") for words in some)]:
        code, said = piped(idle, words, head)
        assert (code in (0, 141), said) == (True, ""), (words, head, code, said)


def test_a_reader_that_goes_while_we_wait_ends_following_at_once(running, go):
    number = running.add(f"echo begun; until [ -e {go} ]; do sleep 0.02; done")
    with beside(running, "log", "-f", str(number)) as process:
        assert process.stdout.readline() == b"begun\n"
        process.stdout.close()
        assert process.wait(20) in (0, 141)
        assert process.stderr.read() == b""
    assert running.row(number) == "running"


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM], ids=["INT", "TERM"])
def test_a_signal_ends_it_without_a_traceback(idle, stop):
    number = idle.enqueue("true")
    with beside(idle, "log", "-f", str(number)) as process:
        process.stderr.readline()
        process.send_signal(stop)
        assert process.wait(20) == (130 if stop == signal.SIGINT else -signal.SIGTERM)
        assert process.stderr.read() == b""


def test_a_terminal_gets_the_whole_of_it(idle):
    data = b"".join(b"%d\n" % number for number in range(100_000))
    assert shown(idle, "log", str(written(idle, data))) == data.decode()
