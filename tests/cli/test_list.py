"""`slothtray list`: order, reasons, outcomes, limits, and columns that stay aligned whatever stands in them."""

import json
import time
import unicodedata

import pytest
from harness import eventually
from ptys import plain, shown

from slothtray.cli import columns


def listed(home, *options, columns=120):
    """The lines of a list."""
    return home.run("list", *options, env={**home.environment, "COLUMNS": str(columns)}).stdout.splitlines()


def rows(home, *options, columns=120):
    """Its rows by id, in their order."""
    return {int(line.split()[0]): line for line in listed(home, *options, columns=columns) if line[:1].isdigit()}


def end(home, number, **columns):
    """Write into the file how a job ended: quicker than to run it."""
    names = ", ".join(f"{name} = ?" for name in columns)
    with home.read() as connection:
        connection.execute(f"UPDATE jobs SET {names} WHERE id = ?", (*columns.values(), number))
    connection.close()


# --- what is shown -------------------------------------------------------------------------------------------------------------


def test_an_empty_queue_says_what_to_do(home):
    said = home.run("list")
    assert said.stdout == 'Idle (no app is running). Add a job with `slothtray add "make -j4"`\n'
    assert said.stderr == ""


def test_what_was_cut_short_and_run_again_says_so_to_its_end_and_after_it(home):
    once, often, never = (home.enqueue(f"exit {code}") for code in range(3))
    now = time.time()
    end(home, once, state="running", attempts=2, interruptions=1, started_at=now)
    end(home, often, state="done", attempts=4, interruptions=3, started_at=now, finished_at=now, message="ok")
    end(home, never, state="done", attempts=1, started_at=now, finished_at=now, message="ok")
    found = rows(home)
    assert "attempt 2, interrupted once" in found[once]
    assert "ok, interrupted 3 times, " in found[often]
    assert "ok, " in found[never]
    assert "interrupted" not in found[never]


def test_the_unfinished_come_in_the_order_they_will_run_in_then_the_last_finished_first(home, go):
    first = home.add(f"until [ -e {go} ]; do sleep 0.02; done")
    home.start()
    home.wait_for(first, "running")
    low, high, later = home.enqueue("low"), home.enqueue("high", priority=5), home.enqueue("later", not_before=time.time() + 7250)
    held = home.enqueue("held", hold=True)
    ended = [home.enqueue(f"exit {code}") for code in range(3)]
    now = time.time()
    for number in ended:
        at = now - 60 * (20 + number) - 5
        end(home, number, state="done", finished_at=at, started_at=at - 125, message="ok")
    lines = listed(home)
    assert lines[0] == "Running, 3 pending, 1 held"
    found = rows(home)
    assert list(found) == [first, high, low, later, held, *ended]
    assert "  running  " in found[first]
    assert found[high].endswith(f"behind {first}")
    assert found[low].endswith(f"behind {high}")
    assert found[later].endswith("in 2 h")
    assert found[held].endswith("held by you")
    assert found[ended[0]].endswith(f"ok, took 2 min 5 s, {20 + ended[0]} min ago")
    go.touch()


@pytest.mark.parametrize("word", ["status", "ls"])
def test_other_words_for_it(idle, word):
    assert idle.run(word).stdout == idle.run("list").stdout


OUTCOMES = [
    ("exit 3", "failed", "exit 3"),
    ("kill -9 $$", "failed", "signal 9"),
    ("sleep 1.1", "done", "ok, took 1."),
    ("sleep 30 & true", "done", "ok, left 1 running"),
]


def test_outcomes_are_told_in_words_with_how_long_ago_and_a_failure_is_marked_until_looked_at(home):
    ids = [home.add(command) for command, _, _ in OUTCOMES]
    home.start("--until-empty").wait()
    found = rows(home)
    for number, (command, state, words) in zip(ids, OUTCOMES, strict=True):
        cells = found[number].removeprefix(str(number)).split(maxsplit=1)
        assert cells[0] == state + ("!" if state == "failed" else "")
        assert cells[1].startswith(command)
        assert words in cells[1]
        assert cells[1].endswith((" ago", "just now"))
    home.run("show", str(ids[0]))
    home.run("log", "--path", str(ids[1]))
    home.run("why", str(ids[1]))
    assert ["failed!" in rows(home)[number] for number in ids[:2]] == [False, True]
    assert listed(home)[0].startswith("Idle (no app is running), 1 failed. Add a job")
    home.run("log", str(ids[1]))
    assert "failed!" not in rows(home)[ids[1]]
    assert listed(home)[0] == 'Idle (no app is running). Add a job with `slothtray add "make -j4"`'


def test_the_gates_reason_stands_at_the_first_that_is_due(home):
    home.set_load(9.0)
    first, second = home.add("true"), home.add("true")
    home.start("--interval", "0.05", ceiling="1.5")
    eventually(lambda: home.queue()["reason"], "the runner has said why it waits")
    since = time.strftime("%H:%M", time.localtime(home.row(first, "(SELECT since FROM queue)")))
    lines = listed(home)
    assert lines[0] == f"Waiting (load 9.00 > 1.50 since {since}), 2 pending"
    assert rows(home)[first].endswith(f"load 9.00 > 1.50 since {since}")
    assert rows(home)[second].endswith(f"behind {first}")
    home.run("pause")
    eventually(lambda: home.queue()["reason"] == "paused", "the runner has seen the pause")
    assert listed(home)[0] == "Paused, 2 pending"


def test_list_and_why_say_how_long_it_usually_takes(home, go):
    command = f"until [ -e {go} ]; do sleep 0.02; done"
    for runtime in (700, 750, 9999):
        end(home, home.enqueue(command), state="done", runtime=runtime, finished_at=time.time(), message="ok")
    end(home, home.enqueue(command), state="failed", runtime=1, finished_at=time.time(), message="exit 1")
    end(home, home.enqueue("another command"), state="done", runtime=0.3, finished_at=time.time(), message="ok")
    waiting, other = home.enqueue(command), home.enqueue("another command")
    assert home.run("why", "1").stdout == "Job 1 does not wait: it is done.\n"
    found = rows(home)
    assert found[waiting].endswith("no app is running, usually 12 min")
    assert "usually" not in found[other]
    assert "It usually takes 12 min.\n" in home.run("why", str(waiting)).stdout
    assert "usually" not in home.run("why", str(other)).stdout
    home.start()
    home.wait_for(waiting, "running")
    assert rows(home)[waiting].endswith(" s, usually 12 min")
    assert "usually 12 min" in home.run("show", str(waiting)).stdout
    go.touch()


# --- what is chosen ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mixed(idle):
    """A queue with 60 pending and 15 finished jobs, and a few others."""
    ids = {"pending": [idle.enqueue("wait", label="a" if place % 20 == 0 else None) for place in range(60)]}
    for state, count in (("done", 15), ("failed", 3), ("cancelled", 2), ("held", 2)):
        ids[state] = [idle.enqueue(state, label="a" if place == 0 else None) for place in range(count)]
        for place, number in enumerate(ids[state]):
            end(idle, number, state=state, finished_at=None if state == "held" else 1e9 + place + (100 if state == "done" else 0))
    return idle, ids


def test_fifty_unfinished_and_ten_finished_are_shown_and_how_many_more_there_are(mixed):
    home, ids = mixed
    lines = listed(home)
    assert list(rows(home)) == [*ids["pending"][:50], *ids["done"][:4:-1]]
    assert lines[-1] == "and 22 more (-n 82 shows them)"
    assert len(rows(home, "-n", "82")) == 82
    assert "more" not in listed(home, "-n", "82")[-1]


def test_the_limit_is_for_each_kind(mixed):
    home, ids = mixed
    assert list(rows(home, "-n", "2")) == [*ids["pending"][:2], *ids["done"][:12:-1]]
    assert list(rows(home, "--limit=1", "--state", "failed")) == [ids["failed"][-1]]


@pytest.mark.parametrize("state", ["pending", "done", "failed", "cancelled", "held", "running"])
def test_one_state_only(mixed, state):
    home, ids = mixed
    wanted = ids.get(state, [])
    found = rows(home, "--state", state, "-n", "100")
    assert sorted(found) == wanted
    told = json.loads(home.run("list", "--json", "--state", state, "-n", "100").stdout)
    assert [job["id"] for job in told["jobs"]] == list(found)
    assert {job["state"] for job in told["jobs"]} <= {state}


def test_one_label_only(mixed):
    home, ids = mixed
    wanted = [*ids["pending"][::20], *(ids[state][0] for state in ("held", "done", "cancelled", "failed"))]
    assert sorted(rows(home, "--label", "a")) == sorted(wanted)
    assert list(rows(home, "--label", "a", "--state", "held")) == [ids["held"][0]]
    assert rows(home, "--label", "no such label") == {}
    assert listed(home, "--label", "a", "-n", "1")[-1] == "and 5 more (-n 7 shows them)"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--state", "sleeping"], "there is no state 'sleeping': use one of pending, running, done"),
        (["-n", "0"], "-n 0 would show nothing"),
        (["-n", "x"], "-n/--limit: 'x' is not a whole number"),
        (["-n", "-1"], "-n -1 would show nothing"),
        (["--sate", "done"], "`slothtray list` has no option --sate: did you mean --state?"),
        (["7"], "`slothtray list` takes no '7'"),
    ],
    ids=" ".join,
)
def test_bad_options_are_one_line(idle, options, told):
    done = idle.run("list", *options, code=2)
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert told in done.stderr


# --- columns -------------------------------------------------------------------------------------------------------------------

AWKWARD = [
    "make -j4",
    "echo " + "long " * 60,
    "echo 日本語のとても長いコマンドラインです。" * 3,
    "echo 🦥🦥🦥 " + "🦥" * 40,
    "echo e\u0301e\u0301e\u0301 nai\u0308ve " + "a\u0308" * 60,
    "한국어 명령줄",
    "printf 'a\nb\tc\x1b[31m'",
]


def cells(text):
    """How many cells a terminal gives a text: asked of the Unicode database in the test's own way."""
    marks = {"Mn", "Me", "Cf"}
    return sum(
        0 if unicodedata.category(one) in marks else 2 if unicodedata.east_asian_width(one) in ("W", "F") else 1 for one in text
    )


@pytest.mark.parametrize("width", [40, 80, 133])
def test_columns_stay_aligned_and_within_the_terminal_with_wide_and_combining_characters(home, width):
    ids = [home.enqueue(command, label="標識" if place == 3 else None) for place, command in enumerate(AWKWARD)]
    lines = plain(shown(home, "list", columns=width)).splitlines()
    assert len(lines) == 2 + len(ids)
    assert max(map(cells, lines[1:])) <= width
    reasons = ["no app" if number == ids[0] else f"behind {number - 1}"[: 8 if width == 40 else None] for number in ids]
    starts = {cells(line[: line.rindex(reason)]) for line, reason in zip(lines[2:], reasons, strict=True)}
    assert len(starts) == 1
    assert {line.index("pending") for line in lines[2:]} == {lines[1].index("STATE")}
    assert all("…" in line for line in lines[3 : 6 if width <= 80 else 4])


def test_into_a_pipe_a_command_is_not_cut_to_a_terminals_width(home):
    home.enqueue("echo " + "x" * 120 + " needle")
    assert "needle" in home.run("list").stdout
    assert "needle" not in shown(home, "list", columns=80)


def test_priorities_have_a_column_only_where_there_are_some(home):
    home.enqueue("true")
    assert "PRI" not in listed(home)[1]
    number = home.enqueue("true", priority=-7)
    assert listed(home)[1].split() == ["ID", "STATE", "PRI", "COMMAND"]
    assert rows(home)[number].split()[:3] == [str(number), "pending", "-7"]


def test_a_label_stands_before_the_command(home):
    number = home.enqueue("make", label="kernel")
    assert "kernel: make" in rows(home)[number]


@pytest.mark.parametrize(
    ("text", "size", "cut"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("ab cd", 4, "ab…"),
        ("e\u0301e\u0301", 2, "e\u0301e\u0301"),
        ("🦥\u200d🦥x", 4, "🦥…"),
    ],
)
def test_a_text_is_cut_by_its_cells(text, size, cut):
    assert columns.fit(text, size) == cut
    assert columns.width(columns.fit(text, size)) <= size
    assert columns.width(columns.pad(cut, 10)) == 10
