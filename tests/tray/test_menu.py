"""What the tray says."""

import inspect
import itertools
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slothtray.model import Face, Job, Notice, Snapshot, State
from slothtray.tray import menu
from slothtray.tray.menu import Do, Notes

IDLE = Snapshot(Face.IDLE, "", None, (), (), 0, 0, 0, False, None, None, "")
NASTY = "\x1b[31m\u202egpj\x00\udc80\n" + "x" * 500


def job(number=12, **fields):
    empty = dict.fromkeys(Job._fields)
    usual = {"id": number, "state": State.RUNNING, "command": "make -j4", "attempts": 1, "seen": False}
    return Job(**{**empty, **usual, **fields})


def failed(number=12, **fields):
    return job(number, state=State.FAILED, message="exit 2 after 3 s", **fields)


def running(**fields):
    return IDLE._replace(face=Face.RUNNING, running=job(**fields))


def labels(snapshot, notes=menu.NO_NOTES):
    return [entry.label for entry in menu.build(snapshot, notes) if not entry.separator]


def by_key(snapshot, notes=menu.NO_NOTES):
    return {entry.key: entry for entry in menu.build(snapshot, notes)}


def test_an_idle_queue_has_the_shortest_menu():
    assert labels(IDLE) == ["Idle", "Pause", "Add from clipboard", "Open log", "Quit"]
    assert menu.tooltip(IDLE) == "slothtray: idle"


def test_a_waiting_queue_says_why_with_the_figure_and_how_many_wait():
    snapshot = IDLE._replace(face=Face.WAITING, reason="load 2.91 > 1.50 since 14:02", pending=3)
    assert labels(snapshot)[:2] == ["Waiting: load 2.91 > 1.50 since 14:02", "3 jobs queued"]
    assert menu.tooltip(snapshot) == "slothtray: waiting: load 2.91 > 1.50 since 14:02 · 3 queued"


def test_a_running_job_is_named_with_its_attempt_and_its_start(monkeypatch):
    monkeypatch.setattr(menu, "clock_words", lambda wall: f"<{wall:g}>")
    snapshot = running(attempts=2, started_at=50.0)._replace(pending=1)
    assert labels(snapshot)[:2] == ["Running: make -j4 (since <50>, attempt 2)", "1 job queued"]
    assert labels(snapshot)[-1] == "Quit (the running job goes on)"
    assert labels(running(label="the build"))[0] == "Running: the build"


def test_a_pause_is_told_beside_a_job_that_still_runs():
    snapshot = running()._replace(paused=True)
    assert labels(snapshot)[:2] == ["Running: make -j4", "Paused: nothing else starts"]
    assert menu.tooltip(snapshot) == "slothtray: running: make -j4 · paused"


def test_pause_is_checked_and_a_click_asks_for_the_opposite_of_what_was_seen():
    assert by_key(IDLE)["pause"][2:4] == (Do("pause"), False)
    paused = IDLE._replace(face=Face.PAUSED, paused=True, reason="paused until 14:30")
    assert by_key(paused)["pause"][2:4] == (Do("resume"), True)
    assert labels(paused)[0] == "Paused until 14:30"


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
    assert len(label) == menu.LABEL_LIMIT
    assert label.endswith("x… (exit 2 after 3 s)")


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
    assert by_key(IDLE, Notes((lost,)))["missed.0"].do == Do("open_log", (12,))
    assert menu.badge(IDLE, Notes((lost,)))
    assert "missed.0" not in by_key(IDLE._replace(recent=(failed(12),), failed_unseen=1), Notes((lost,)))


def test_a_click_that_failed_is_told():
    assert labels(IDLE, Notes(mishap="Pause: the database is busy"))[1] == "Pause: the database is busy"


def test_held_jobs_say_what_to_do():
    assert labels(IDLE._replace(held=1))[1].startswith("1 job held until you say")
    assert menu.badge(IDLE._replace(held=1))


def test_every_click_is_a_method_of_actions_with_these_arguments():
    everything = running()._replace(recent=(failed(12),), failed_unseen=5, held=1, trouble="x", paused=True)
    lost = Notice(7, "t", "b", urgent=False)
    clicks = [e.do for s in (everything, IDLE) for e in menu.build(s, Notes((lost, lost._replace(job=None)), "m")) if e.do]
    for do in clicks:
        inspect.signature(getattr(menu.Actions, do.name)).bind(None, *do.arguments)
    assert {do.name for do in clicks} == {name for name in vars(menu.Actions) if not name.startswith("_")}


NAMES = st.text(st.characters(exclude_categories=()), max_size=200) | st.just(NASTY)


@given(st.sampled_from(Face), NAMES, NAMES, NAMES, st.integers(0, 10**6), st.booleans())
def test_whatever_the_queue_holds_menu_and_tooltip_are_clean_short_and_whole(face, words, name, lost, number, paused):
    snapshot = IDLE._replace(face=face, reason=words, running=job(command=name), recent=(failed(1, label=name),), trouble=words)
    snapshot = snapshot._replace(pending=number, held=number, failed_unseen=number, paused=paused)
    notes = Notes((Notice(None, lost, lost, urgent=True),) * 5, words)
    entries = menu.build(snapshot, notes)
    tooltip = menu.tooltip(snapshot, notes)
    shown = [entry.label for entry in entries if not entry.separator]
    assert all(label and len(label) <= menu.LABEL_LIMIT for label in shown)
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
