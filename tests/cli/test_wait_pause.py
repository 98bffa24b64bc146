"""`slothtray wait`, `pause` and `resume`."""

import re
import time

import pytest
from harness import eventually
from ptys import Terminal, beside, plain, screen

NO_APP = "slothtray: no app is running; it goes on when one is (`slothtray`, or `slothtray run`)\n"


# --- wait -----------------------------------------------------------------------------------------------------------------------


def test_wait_ends_with_0_when_all_are_done_and_says_nothing(running):
    ids = [running.add("sleep 0.2"), running.add("true")]
    done = running.run("wait", f"{ids[0]}-{ids[1]}")
    assert (done.stdout, done.stderr) == ("", "")
    assert [running.row(number) for number in ids] == ["done", "done"]
    assert running.run("wait", str(ids[0])).stderr == ""


def test_wait_ends_with_1_when_one_is_not_and_says_which(running):
    ids = [running.add("true"), running.add("exit 3"), running.add("--hold", "true")]
    running.run("cancel", str(ids[2]))
    done = running.run("wait", *map(str, ids), code=1)
    assert sorted(done.stderr.splitlines()) == [
        f"slothtray: job {ids[1]} failed: exit 3",
        f"slothtray: job {ids[2]} cancelled: cancelled before it ran",
    ]


def test_without_ids_it_waits_for_all_that_are_unfinished_now(home, go):
    ids = [home.add(f"until [ -e {go} ]; do sleep 0.02; done"), home.add("true"), home.add("--hold", "true")]
    home.start()
    with beside(home, "wait") as process:
        home.wait_for(ids[0], "running")
        assert process.poll() is None
        go.touch()
        assert process.wait(20) == 0
    assert [home.row(number) for number in ids] == ["done", "done", "held"]
    assert home.run("wait").stderr == ""


def test_a_timeout_ends_it_with_124_and_says_what_is_left(idle):
    ids = [idle.enqueue("true") for _ in range(12)]
    began = time.monotonic()
    done = idle.run("wait", "--timeout", "0.3", f"{ids[0]}-{ids[-1]}", code=124)
    assert time.monotonic() - began >= 0.3
    assert done.stderr == f"{NO_APP}slothtray: not over yet: {', '.join(map(str, ids[:10]))} and 2 more\n"


def test_what_is_held_ends_it_at_once_and_tells_the_way_on(idle):
    first, held = idle.enqueue("true"), idle.enqueue("true", hold=True)
    done = idle.run("wait", str(first), str(held), code=1)
    assert done.stderr == f"slothtray: job {held} is held by you: `slothtray release {held}` queues it\n"


def test_a_pause_is_told_at_once_and_again_when_it_comes_back(home):
    number = home.add("true")
    home.run("pause")
    home.start()
    with beside(home, "wait", str(number)) as process:
        assert process.stderr.readline() == b"slothtray: the queue is paused; `slothtray resume` goes on\n"
        home.run("resume")
        assert process.wait(20) == 0
        assert process.stderr.read() == b""


def test_on_a_terminal_one_line_shows_how_far_it_is_and_is_gone_at_the_end(home, go):
    text = "本" * 60
    ids = [home.add("true"), home.add(f": {text}; until [ -e {go} ]; do sleep 0.02; done"), home.add("exit 4")]
    home.start()
    with Terminal(home, "wait", "1-3", columns=40) as terminal:
        terminal.read(until=f"1 of 3 over; job {ids[1]} running".encode())
        (line,) = (line for line in screen(terminal.written.decode()) if line)
        assert re.fullmatch(r"1 of 3 over; job 2 running for [\d.]+ s", line)
        go.touch()
        assert terminal.end() == 1
        left = screen(terminal.written.decode())
    assert [line for line in left if line] == [f"slothtray: job {ids[2]} failed: exit 4"]
    longest = max(len(part) for part in re.split("[\r\n]", plain(terminal.written.decode())))
    assert longest < 60  # never so wide that the terminal would begin a new line


def test_progress_fits_a_narrow_terminal_whatever_the_reason_is(home):
    home.run("pause")
    home.enqueue("true", label="日本" * 20)
    with Terminal(home, "wait", "--timeout", "0.3", columns=30) as terminal:
        assert terminal.end() == 124
    parts = re.split("[\r\n]", terminal.written.decode())
    progress = [part for part in parts if part.startswith("0 of 1")]
    assert progress
    assert max(map(len, progress)) == 29
    assert [line for line in screen(terminal.written.decode()) if line] == [
        "slothtray: the queue is paused; `slothtray resume` goes on",
        "slothtray: not over yet: 1",
    ]


def test_ctrl_c_ends_it_with_130_and_takes_its_line_away(idle):
    number = idle.enqueue("true")
    with Terminal(idle, "wait", str(number)) as terminal:
        terminal.read(until=b"0 of 1 over")
        terminal.type(b"\x03")
        assert terminal.end() == 130
        assert [line for line in screen(terminal.written.decode()) if line] == [NO_APP.rstrip()]
    assert idle.row(number) == "pending"


@pytest.mark.parametrize(
    ("words", "told"),
    [(["--timeout", "0"], "no time at all"), (["--timeout"], "--timeout"), (["x"], "'x' is not a job id"), (["--all"], "no option --all")],
    ids=" ".join,
)
def test_a_bad_wait_is_one_line(idle, words, told):
    done = idle.run("wait", *words, code=2)
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert told in done.stderr


# --- pause and resume -----------------------------------------------------------------------------------------------------------


def test_pause_and_resume_say_what_they_did_and_going_on_twice_is_no_error(home):
    assert home.run("pause").stdout == "paused\n"
    assert home.queue()["state"] == "paused"
    assert home.run("pause").stdout == "paused\n"
    assert home.run("resume").stdout == "resumed\n"
    done = home.run("resume")
    assert (done.stdout, done.stderr) == ("", "slothtray: the queue was not paused\n")
    assert home.queue()["state"] == "idle"


def test_toggle_pauses_and_goes_on(home):
    assert [home.run("pause", "--toggle").stdout for _ in range(3)] == ["paused\n", "resumed\n", "paused\n"]


def test_a_pause_for_a_while_says_until_when_and_ends_by_itself(home):
    home.start()
    began = time.time()
    assert re.fullmatch(r"paused until \d\d:\d\d\n", home.run("pause", "1.5s").stdout)
    number = home.add("true")
    assert home.wait_for(number, "done") == "done"
    assert home.row(number, "started_at") >= began + 1.5
    assert home.queue()["state"] == "idle"


def test_case_19_what_was_pending_runs_by_itself_after_a_restart_and_a_persons_pause_is_kept(home, go):
    app = home.start()
    ids = [home.add(f"until [ -e {go} ]; do sleep 0.02; done"), *(home.enqueue("true") for _ in range(3))]
    home.wait_for(ids[0], "running")
    assert app.stop() == 0
    go.touch()
    app = home.start()
    assert [home.wait_for(number, "done") for number in ids] == ["done"] * 4
    home.run("pause")
    assert app.stop() == 0
    number = home.add("true")
    home.start()
    eventually(lambda: home.row(number, "(SELECT gate FROM queue)") == "pause", "the new runner keeps it back")
    assert home.row(number) == "pending"
    home.run("resume")
    assert home.wait_for(number, "done") == "done"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["pause", "0"], "'0' is no time at all"),
        (["pause", "soon"], "'soon' is not a duration"),
        (["pause", "1h", "2h"], "takes one DUR, not 2"),
        (["pause", "--toggle", "1h"], "--toggle takes no duration"),
        (["resume", "1h"], "`slothtray resume` takes no '1h'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_bad_pause_is_one_line_and_pauses_nothing(idle, words, told):
    done = idle.run(*words, code=2)
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert told in done.stderr
    assert idle.queue()["state"] != "paused"
