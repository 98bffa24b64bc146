"""What the tray says."""

import inspect
import itertools
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slothtray.model import NEVER, Face, Job, Notice, Snapshot, State
from slothtray.policy import tomorrow
from slothtray.tray import menu, words
from slothtray.tray.menu import Clipping, Do, Notes

IDLE = Snapshot(Face.IDLE, "", None, (), (), 0, 0, 0, False, None, None, "")
NASTY = "\x1b[31m\u202egpj\x00\udc80\n" + "x" * 500


def job(number=12, **fields):
    empty = dict.fromkeys(Job._fields)
    zeroes = dict.fromkeys(("failures", "unstarted", "not_before"), 0)
    usual = {"id": number, "state": State.RUNNING, "command": "make -j4", "attempts": 1, "seen": False, **zeroes}
    return Job(**{**empty, **usual, **fields})


def failed(number=12, **fields):
    return job(number, state=State.FAILED, message="exit 2 after 3 s", **fields)


def running(**fields):
    return IDLE._replace(face=Face.RUNNING, running=job(**fields))


def labels(snapshot, notes=menu.NO_NOTES):
    return [entry.label for entry in menu.build(snapshot, notes) if not entry.separator]


def by_key(snapshot, notes=menu.NO_NOTES):
    return {entry.key: entry for entry in menu.build(snapshot, notes)}


def under(entry):
    """What can be chosen in an entry's submenu."""
    return {choice.label: choice.do for choice in entry.submenu}


def everything(entries):
    for entry in entries:
        yield entry
        yield from everything(entry.submenu)


def test_an_idle_queue_has_the_shortest_menu():
    assert labels(IDLE) == ["Idle", "Pause", "Pause for…", "Add from clipboard", "Open log", "Quit"]
    assert menu.tooltip(IDLE) == "slothtray: idle"


def test_a_busy_queue_shows_what_runs_what_comes_and_what_was_in_this_order():
    now = {"running": job(12), "next_up": (job(13), job(14)), "recent": (failed(11, seen=True),), "pending": 2}
    assert labels(IDLE._replace(face=Face.RUNNING, **now)) == [
        "Running: make -j4",
        "2 jobs queued",
        *("Pause", "Pause for…", "Add from clipboard"),
        "make -j4",
        *("Next up", "make -j4", "make -j4"),
        *("Recent", "make -j4 (exit 2 after 3 s)"),
        *("Open log", "Quit (the running job goes on)"),
    ]


def test_a_waiting_queue_says_why_with_the_figure_and_how_many_wait():
    snapshot = IDLE._replace(face=Face.WAITING, reason="load 2.91 > 1.50 since 14:02", pending=3)
    assert labels(snapshot)[:2] == ["Waiting: load 2.91 > 1.50 since 14:02", "3 jobs queued"]
    assert menu.tooltip(snapshot) == "slothtray: waiting: load 2.91 > 1.50 since 14:02 · 3 queued"


def test_a_running_job_is_named_with_its_attempt_and_its_start(monkeypatch):
    monkeypatch.setattr(words, "clock_words", lambda wall, _now: f"<{wall:g}>")
    snapshot = running(attempts=2, started_at=50.0)._replace(pending=1)
    assert labels(snapshot)[:2] == ["Running: make -j4 (since <50>, attempt 2)", "1 job queued"]
    assert labels(snapshot)[-1] == "Quit (the running job goes on)"
    assert labels(running(label="the build"))[0] == "Running: the build"


def test_what_cannot_be_killed_is_told_instead_of_the_start():
    snapshot = running(started_at=50.0, reason="cannot kill pid 4194303")
    assert labels(snapshot)[0] == "Running: make -j4 (cannot kill pid 4194303)"
    assert menu.tooltip(snapshot) == "slothtray: running: make -j4 (cannot kill pid 4194303)"


def test_a_pause_is_told_beside_a_job_that_still_runs():
    snapshot = running()._replace(paused=True)
    assert labels(snapshot)[:2] == ["Running: make -j4", "Paused: nothing else starts"]
    assert menu.tooltip(snapshot) == "slothtray: running: make -j4 · paused"


def test_pause_is_checked_and_a_click_asks_for_the_opposite_of_what_was_seen():
    assert by_key(IDLE)["pause"][2:4] == (Do("pause"), False)
    paused = IDLE._replace(face=Face.PAUSED, paused=True, reason="paused")
    assert by_key(paused)["pause"][2:4] == (Do("resume"), True)
    assert labels(paused)[0] == "Paused"


def test_a_pause_may_last_for_a_while_and_is_then_told_with_its_end(monkeypatch):
    monkeypatch.setattr(words, "clock_words", lambda wall, now: f"<{wall:g} seen at {now:g}>")
    assert under(by_key(IDLE)["pause.for"]) == {
        "30 minutes": Do("pause", (1800,)),
        "1 hour": Do("pause", (3600,)),
        "Until tomorrow, 8:00": Do("pause_until_tomorrow"),
    }
    paused = IDLE._replace(face=Face.PAUSED, paused=True, paused_until=50.0, at=20.0)
    assert labels(paused)[0] == "Paused until <50 seen at 20>"


@pytest.fixture
def berlin(monkeypatch):
    """Its clocks were set forward on 31 March 2024, at two."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield lambda clock: time.mktime(time.strptime(clock, "%Y-%m-%d %H:%M"))
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("now", "then"),
    [
        ("2024-03-05 17:30", "2024-03-06 08:00"),
        ("2024-03-05 23:59", "2024-03-06 08:00"),
        ("2024-03-06 00:30", "2024-03-06 08:00"),  # who says so past midnight means this morning
        ("2024-03-06 04:30", "2024-03-07 08:00"),
        ("2024-03-30 21:00", "2024-03-31 08:00"),
        ("2024-12-31 12:00", "2025-01-01 08:00"),
    ],
)
def test_tomorrow_is_the_next_morning_that_is_a_night_away(berlin, now, then):
    assert tomorrow(berlin(now)) == berlin(then)


def test_the_running_job_can_be_looked_at_and_cancelled_once():
    entry = by_key(running())["running.12"]
    assert under(entry) == {"Open its log": Do("open_log", (12,)), "Cancel": Do("cancel", (12,))}
    assert under(by_key(running(cancel_requested=True))["running.12"]) == {"Open its log": Do("open_log", (12,)), "Being cancelled": None}


def test_what_comes_next_says_what_it_waits_for_and_can_be_started_held_or_cancelled(monkeypatch):
    monkeypatch.setattr(words, "clock_words", lambda wall, _now: f"<{wall:g}>")
    waits = (job(1), job(2, not_before=50), job(3, not_before=50, failures=1), job(4, not_before=NEVER, after=2), job(5, not_before=9))
    snapshot = IDLE._replace(next_up=waits, pending=12, at=10.0)
    shown = labels(snapshot)
    first = shown.index("Next up: 5 of 12")
    details = ["", " (at <50>)", " (attempt 2 at <50>)", " (after job 2)", ""]
    assert shown[first + 1 : first + 6] == [f"make -j4{detail}" for detail in details]
    assert under(by_key(snapshot)["next.3"]) == {"Start now": Do("start", (3,)), "Hold": Do("hold", (3,)), "Cancel": Do("cancel", (3,))}


def test_what_was_says_how_it_ended_and_can_be_had_again():
    ends = (
        job(1, state=State.DONE, message="ok"),
        job(2, state=State.DONE, message="ok", started_at=100.0, finished_at=112.9),
        job(3, state=State.DONE, message="ok, left 2 running"),
        failed(4),
        job(5, state=State.CANCELLED, message="cancelled before it ran"),
        job(6, state=State.CANCELLED, label="nightly"),
    )
    snapshot = IDLE._replace(recent=ends)
    outcomes = ["done", "done in 12 s", "done, left 2 running", "exit 2 after 3 s", "cancelled before it ran"]
    assert labels(snapshot)[-8:-2] == [*(f"make -j4 ({outcome})" for outcome in outcomes), "nightly (cancelled)"]
    choices = {"Open log": Do("open_log", (6,)), "Retry": Do("retry", (6,)), "Copy command": Do("copy_command", ("make -j4",))}
    assert under(by_key(snapshot)["recent.6"]) == choices


def test_a_cancelled_job_is_where_it_can_be_retried():
    assert Do("retry", (12,)) in under(by_key(IDLE._replace(recent=(job(12, state=State.CANCELLED),)))["recent.12"]).values()


def test_without_a_look_into_the_clipboard_a_click_adds_whatever_is_there():
    assert by_key(IDLE)["clipboard"].do == Do("add_from_clipboard")


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("make -j4", "Add “make -j4”"),
        ("cd src\nmake\nmake install", "Add 3 lines “cd src ↵ make ↵ make install”"),
        ("x" * 100_000, "Add “" + "x" * 53 + "…”"),
        ("\t a  b", "Add “a b”"),
    ],
)
def test_what_is_shown_of_the_clipboard_is_what_a_click_adds(text, label):
    entry = by_key(IDLE, Notes(clipping=Clipping(text)))["clipboard"]
    assert (entry.label, entry.do) == (label, Do("add_from_clipboard", (text,)))


def test_a_clipboard_that_holds_no_command_says_why_and_can_be_asked_again():
    entry = by_key(IDLE, Notes(clipping=Clipping("", "the clipboard holds no text but image/png")))["clipboard"]
    assert (entry.label, entry.do) == ("The clipboard holds no text but image/png", Do("add_from_clipboard"))


def test_another_version_that_is_installed_can_be_started_in_the_apps_place():
    assert "restart" not in by_key(IDLE)
    assert by_key(IDLE._replace(newer="0.3.0"))["restart"][1:3] == ("Restart to use 0.3.0", Do("restart"))


def test_start_at_login_is_there_where_it_can_be_and_a_click_turns_it_over():
    assert "autostart" not in by_key(IDLE)
    for state in (True, False):
        assert by_key(IDLE, Notes(autostart=state))["autostart"][1:4] == ("Start at login", Do("set_autostart", (not state,)), state)


def test_a_failure_stays_with_its_outcome_and_a_click_on_the_icon_opens_its_log():
    snapshot = IDLE._replace(recent=(failed(12), failed(11, seen=True), job(10, state=State.DONE)), failed_unseen=1)
    entries = by_key(snapshot)
    assert labels(snapshot)[1] == "Failed: make -j4 (exit 2 after 3 s)"
    assert entries["failed.12"].do == Do("open_log", (12,))
    assert entries["failed.12"].default
    assert "failed.11" not in entries
    assert menu.tooltip(snapshot) == "slothtray: idle · 1 failed"


def test_a_long_name_is_cut_but_not_the_outcome():
    label = by_key(IDLE._replace(recent=(failed(command="x" * 300),), failed_unseen=1))["failed.12"].label
    assert len(label) == words.LABEL_LIMIT
    assert label.endswith("x… (exit 2 after 3 s)")


def test_a_job_whose_name_shows_nothing_is_called_by_its_number():
    assert labels(running(command="\u200b\u2060"))[0] == "Running: job 12"


def test_more_failures_than_are_shown_are_counted():
    snapshot = IDLE._replace(recent=tuple(failed(n) for n in (15, 14, 13, 12, 11)), failed_unseen=9)
    assert labels(snapshot)[4] == "6 more failed"
    assert labels(IDLE._replace(failed_unseen=2))[1] == "2 jobs failed"


def test_trouble_comes_first():
    snapshot = running()._replace(trouble="the database can't be used")
    assert labels(snapshot)[:2] == ["Trouble: the database can't be used", "Running: make -j4"]
    assert menu.tooltip(snapshot).startswith("slothtray: trouble: the database can't be used")


def test_what_nobody_was_told_is_kept_unless_the_failure_says_it():
    lost = Notice(12, "“make -j4” failed", "exit 2", urgent=True)
    assert labels(IDLE, Notes((lost,)))[1] == "Not notified: “make -j4” failed"
    assert by_key(IDLE, Notes((lost,)))["missed.12.“make -j4” failed"].do == Do("open_log", (12,))
    assert menu.badge(IDLE, Notes((lost,)))
    assert "missed.12.“make -j4” failed" not in by_key(IDLE._replace(recent=(failed(12),), failed_unseen=1), Notes((lost,)))


def test_a_click_that_failed_is_told():
    assert labels(IDLE, Notes(mishap="Pause: the database is busy"))[1] == "Pause: the database is busy"


def test_a_held_job_says_why_and_can_be_released_or_dropped():
    one = job(7, state=State.HELD, reason="held by you")
    entry = by_key(IDLE._replace(held=1, held_jobs=(one,)))["held.7"]
    assert entry.label == "Held: make -j4 (held by you)"
    assert under(entry) == {"Release": Do("release", (7,)), "Open log": Do("open_log", (7,)), "Cancel": Do("cancel", (7,))}
    assert menu.badge(IDLE._replace(held=1))
    many = tuple(job(number, state=State.HELD) for number in range(5))
    assert labels(IDLE._replace(held=9, held_jobs=many))[4] == "6 more held: slothtray list --state held"


def test_an_entry_keeps_its_key_whatever_comes_before_it():
    before = IDLE._replace(next_up=(job(1), job(2)), recent=(job(3, state=State.DONE),))
    after = IDLE._replace(next_up=(job(2),), recent=(job(1, state=State.DONE), job(3, state=State.DONE)))
    assert [key for key in by_key(after) if key in by_key(before) and key[-1] in "23" and "separator" not in key] == ["next.2", "recent.3"]


FULL = running()._replace(
    recent=(failed(12),), next_up=(job(13),), failed_unseen=5, held=1, held_jobs=(job(14),), trouble="x", paused=True, newer="9"
)


def test_every_click_is_a_method_of_actions_with_these_arguments():
    lost = Notice(7, "t", "b", urgent=False)
    notes = Notes((lost, lost._replace(job=None)), "m", Clipping("x"), autostart=True)
    clicks = [e.do for s in (FULL, IDLE) for e in everything(menu.build(s, notes)) if e.do]
    for do in clicks:
        inspect.signature(getattr(menu.Actions, do.name)).bind(None, *do.arguments)
    assert {do.name for do in clicks} == {name for name in vars(menu.Actions) if not name.startswith("_")}


NAMES = st.text(st.characters(exclude_categories=()), max_size=200) | st.just(NASTY)


@given(st.sampled_from(Face), NAMES, NAMES, NAMES, st.integers(0, 10**6), st.booleans())
def test_whatever_the_queue_holds_menu_and_tooltip_are_clean_short_and_whole(face, text, name, lost, number, paused):
    jobs = {"running": job(command=name), "recent": (failed(1, label=name),), "next_up": (job(2, command=name),)}
    held = (job(3, command=name, reason=text),)
    snapshot = IDLE._replace(face=face, reason=text, trouble=text, held_jobs=held, **jobs)
    snapshot = snapshot._replace(pending=number, held=number, failed_unseen=number, paused=paused)
    notes = Notes((Notice(None, lost, lost, urgent=True),) * 5, text, Clipping(name))
    entries = menu.build(snapshot, notes)
    tooltip = menu.tooltip(snapshot, notes)
    shown = [entry.label for entry in everything(entries) if not entry.separator]
    assert all(label and len(label) <= words.LABEL_LIMIT for label in shown)
    assert all(unicodedata.category(one) not in {"Cc", "Cs"} for one in "".join([*shown, tooltip]))
    assert "\u202e" not in "".join([*shown, tooltip])
    assert len(tooltip.encode("utf-16-le")) // 2 <= menu.TOOLTIP_LIMIT
    assert len({entry.key for entry in entries}) == len(entries)
    assert sum(entry.default for entry in entries) == 1
    assert not any(one.separator and two.separator for one, two in itertools.pairwise(entries))


@pytest.mark.parametrize("name", ["x" * 400, "😀" * 400])
def test_the_tooltip_cuts_the_name_and_keeps_the_counts(name):
    tooltip = menu.tooltip(running(command=name)._replace(pending=3, failed_unseen=1))
    assert tooltip.endswith("… · 3 queued · 1 failed")
    assert 120 <= len(tooltip.encode("utf-16-le")) // 2 <= menu.TOOLTIP_LIMIT
