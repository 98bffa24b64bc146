"""A SIGKILL between any two steps of an attempt, of the app or of its supervisor: what comes of the job is DESIGN 3's table."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import crash_plots
import pytest
from private import in_namespace

import slothtray

AT_ONCE = 4
"""Stories that are lived through side by side."""


class Story(NamedTuple):
    """A plot, the crash points in it, and what must have come of the job."""

    plot: str
    points: str
    tells: str
    """The kinds of its events, in order, without what people say of it; "adopted" is counted apart."""
    attempts: int
    began: tuple[str, ...]
    """The attempts in which its program was executed: one of these, where it is left to chance."""
    adopted: tuple[int, ...]
    """How often its run was adopted."""


UNTOUCHED = "added claimed failed"
UNSTARTED = "added claimed unstarted claimed failed"
RECLAIMED = "added claimed reclaimed claimed failed"
CANCELLED = "added claimed cancel_requested cancelled"
NEVER, ONCE, PERHAPS = (0,), (1,), (0, 1)


def story(plot, point, tells, attempts, *began, adopted=NEVER):
    """One line of the table below, under the name of its test."""
    return f"{plot.replace('_', ' ')}: {point}", Story(plot, point, tells, attempts, began, adopted)


STORIES = dict(
    [
        # A claim that is not committed has not happened. Up to the record there is nothing to know the run by.
        story("app_dies", "claiming", UNTOUCHED, 1, "1"),
        story("app_dies", "claimed", RECLAIMED, 2, "2"),
        story("no_record_can_be_made", "no record", RECLAIMED, 2, "2"),
        # A record that nobody holds and that says nothing, or a supervisor that is never told what to do.
        story("app_dies", "record made", UNSTARTED, 1, "1"),
        story("app_dies", "record locked", UNSTARTED, 1, "1"),
        story("app_dies", "record synced", UNSTARTED, 1, "1"),
        story("app_dies", "supervisor born", UNSTARTED, 1, "1", adopted=PERHAPS),
        story("app_dies", "record given away", UNSTARTED, 1, "1", adopted=PERHAPS),
        # From here on the supervisor goes on by itself, and what it says at the end is found.
        story("app_dies_while_the_job_runs", "spec sent", UNTOUCHED, 1, "1", adopted=ONCE),
        story("app_dies", "lock free", UNTOUCHED, 1, "1"),
        story("app_dies", "judged", UNTOUCHED, 1, "1"),
        story("app_dies", "swept", UNTOUCHED, 1, "1"),
        story("app_dies", "ending", UNTOUCHED, 1, "1"),
        story("app_dies", "ended", UNTOUCHED, 1, "1"),
        story("adopter_dies", "adopting", UNTOUCHED, 1, "1", adopted=ONCE),
        story("adopter_dies", "adopted", UNTOUCHED, 1, "1", adopted=(2,)),
        story("sweeper_dies", "judged", RECLAIMED, 2, "1 2"),
        story("sweeper_dies", "swept", RECLAIMED, 2, "1 2"),
        story("sweeper_dies", "ending", RECLAIMED, 2, "1 2"),
        story("sweeper_dies", "ended", RECLAIMED, 2, "1 2"),
        story("cancel_is_passed_on", "cancelling", CANCELLED, 1, "1", adopted=ONCE),
        story("cancel_is_passed_on", "cancel passed on", CANCELLED, 1, "1", adopted=PERHAPS),
        # The supervisor dies under its app. Without an S the job has never begun.
        story("supervisor_dies", "before the spec", UNSTARTED, 1, "1"),
        story("supervisor_dies", "before S", UNSTARTED, 1, "1"),
        story("supervisor_dies", "after S", RECLAIMED, 2, "2"),
        # The job dies with it (PDEATHSIG), sooner or later.
        story("supervisor_dies", "before J", RECLAIMED, 2, "2", "1 2"),
        story("supervisor_dies", "after J", RECLAIMED, 2, "2", "1 2"),
        # The only repeat of a job that had ended: its result was not yet written.
        story("supervisor_dies", "before X", RECLAIMED, 2, "1 2"),
        story("supervisor_dies", "after X", UNTOUCHED, 1, "1"),
        story("supervisor_dies", "X synced", UNTOUCHED, 1, "1"),
        # Both die.
        story("app_dies", "record given away,before the spec", UNSTARTED, 1, "1", adopted=PERHAPS),
        story("app_dies", "spec sent,before S", UNSTARTED, 1, "1", adopted=PERHAPS),
        story("app_dies", "spec sent,after S", RECLAIMED, 2, "2", adopted=PERHAPS),
        story("app_dies", "spec sent,before J", RECLAIMED, 2, "2", "1 2", adopted=PERHAPS),
        story("app_dies", "spec sent,after J", RECLAIMED, 2, "2", "1 2", adopted=PERHAPS),
        story("app_dies", "spec sent,before X", RECLAIMED, 2, "1 2", adopted=PERHAPS),
        story("app_dies", "spec sent,after X", UNTOUCHED, 1, "1", adopted=PERHAPS),
        story("app_dies", "spec sent,X synced", UNTOUCHED, 1, "1", adopted=PERHAPS),
    ]
)


@pytest.fixture(scope="module")
def lives(tmp_path_factory):
    """All stories, some at a time: what came of each, when it is asked for."""
    folder = tmp_path_factory.mktemp("lives")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {
            name: pool.submit(in_namespace, crash_plots.live, str(folder / f"queue-{number}"), told.plot, told.points)
            for number, (name, told) in enumerate(STORIES.items())
        }
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("name", STORIES)
def test_a_death_between_two_steps_loses_nothing_doubles_nothing_and_is_told(lives, name):
    told, life = STORIES[name], lives[name].result()
    cancelled = told.tells == CANCELLED
    kinds = [kind.replace(" ", "_") for kind in life["kinds"]]
    assert " ".join(kind for kind in kinds if kind not in ("adopted", "start")) == told.tells
    assert kinds.count("adopted") in told.adopted
    assert life["began"] in told.began
    assert life["overlaps"] == ""
    assert (life["state"], life["exit_code"]) == (("cancelled", None) if cancelled else ("failed", 7))
    assert (life["attempts"], life["failures"]) == (told.attempts, 0 if cancelled else 1)
    assert (life["interruptions"], life["unstarted"]) == (told.tells.count("reclaimed"), 0)


def test_each_crash_point_in_the_code_has_its_story():
    sources = Path(slothtray.__file__).parent.rglob("*.py")
    # Those of a restore are tried in test_restore.py.
    found = {point for source in sources if source.parent.name != "recovery" for point in re.findall(r'\bcrash_point\(f?"([^"]+)"\)', source.read_text())}
    lines = {f"{when} {kind}" for when in ("before", "after") for kind in "SJX"}
    expected = found - {"before {kind}", "after {kind}"} | lines
    assert {point for told in STORIES.values() for point in told.points.split(",")} == expected
