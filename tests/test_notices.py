"""What a person is told of many things that happen, and when."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slothtray.config import defaults
from slothtray.model import Notice, State
from slothtray.notices import EMPTY, WINDOW, Memory, Moment, News, ending_words, is_quiet, notice_of, sort_out
from slothtray.paths import Paths
from slothtray.policy import Change
from slothtray.runner import telling
from slothtray.store import Queue


def news(job, kind="failed", outcome="exit 2", output=()):
    return News(kind, job, f"job-{job}", outcome, output)


class Teller:
    """Asks again and again, with the memory of the time before."""

    def __init__(self):
        self.memory, self.awake = Memory(), 1000.0

    def tell(self, *what, after=0.0, **moment):
        self.awake += after
        notices, self.memory = sort_out(what, self.memory, Moment(self.awake, **moment))
        return notices

    def titles(self, *what, **moment):
        return [notice.title for notice in self.tell(*what, **moment)]


# --- one thing --------------------------------------------------------------------------------------------------------


def test_a_failure_says_how_it_ended_and_what_was_written_last_and_offers_log_and_retry():
    one = news(7, outcome="exit 127: command not found", output=("make: gcc", "gcc: not there"))
    body = "exit 127: command not found\nmake: gcc\ngcc: not there"
    assert notice_of(one) == Notice(7, "Failed: job-7", body, urgent=True, offers=("open_log", "retry"))


def test_a_held_job_says_how_it_is_queued_again_and_offers_that():
    notice = notice_of(news(7, "held", "interrupted, and it may run only once"))
    assert (notice.title, notice.urgent, notice.offers) == ("Held: job-7", True, ("open_log", "release"))
    assert notice.body.endswith("\n`slothtray release 7` queues it")


@pytest.mark.parametrize(
    ("kind", "title"), [("done", "Done: job-7"), ("retry", "To be tried again: job-7"), ("reclaimed", "Interrupted: job-7")]
)
def test_what_needs_no_word_is_not_urgent(kind, title):
    notice = notice_of(news(7, kind, "ok"))
    assert (notice.title, notice.urgent, "retry" in notice.offers) == (title, False, False)


@pytest.mark.parametrize(
    ("exit_code", "number", "words"),
    [
        (2, None, "x"),
        (126, None, "x: the command can't be run"),
        (127, None, "x: command not found"),
        (None, 9, "x: killed"),
        (None, 11, "x: segmentation fault"),
        (137, None, "x: signal 9, killed"),
        (255, None, "x"),
        (None, None, "x"),
    ],
)
def test_the_number_of_an_end_is_given_its_meaning(exit_code, number, words):
    assert ending_words("x", exit_code, number) == words


# --- many at once -----------------------------------------------------------------------------------------------------


def test_the_third_failure_within_a_minute_makes_one_notice_of_all_three():
    teller = Teller()
    assert teller.titles(news(1)) == ["Failed: job-1"]
    assert teller.titles(news(2), after=20) == ["Failed: job-2"]
    (notice,) = teller.tell(news(3), after=20)
    assert notice.title == "3 jobs failed within a minute"
    assert notice.body == "job-1: exit 2\njob-2: exit 2\njob-3: exit 2"
    assert (notice.job, notice.covers, notice.offers, notice.urgent) == (None, (1, 2, 3), ("open_log", "retry"), True)


def test_three_failures_that_take_longer_are_told_one_by_one():
    teller = Teller()
    told = [teller.titles(news(job), after=WINDOW / 2 + 1) for job in range(1, 6)]
    assert told == [[f"Failed: job-{job}"] for job in range(1, 6)]


def test_a_burst_goes_on_as_one_notice_until_it_has_been_quiet_for_a_minute():
    teller = Teller()
    for job in (1, 2, 3):
        teller.tell(news(job))
    assert teller.titles(news(4), after=WINDOW - 1) == ["4 jobs failed within a minute"]
    (fifth,) = teller.tell(news(5), after=WINDOW - 1)
    assert fifth.title == "5 jobs failed one after the other"
    assert fifth.body == "job-3: exit 2\njob-4: exit 2\njob-5: exit 2\nand 2 more"
    assert teller.titles(news(6), after=WINDOW + 1) == ["Failed: job-6"]


def test_a_job_that_fails_three_times_is_one_job():
    teller = Teller()
    assert [teller.titles(news(1)) for _ in range(4)] == [["Failed: job-1"]] * 4


def test_held_jobs_count_with_the_failures_and_are_not_offered_to_be_retried():
    teller = Teller()
    teller.tell(news(1))
    teller.tell(news(2, "held"))
    (notice,) = teller.tell(news(3))
    assert notice.title == "2 jobs failed, 1 held within a minute"
    assert notice.offers == ("open_log",)


def test_successes_are_grouped_by_themselves():
    teller = Teller()
    assert teller.titles(news(1), news(2, "done")) == ["Done: job-2", "Failed: job-1"]
    assert teller.titles(news(3, "done"), news(4, "done")) == ["3 jobs done within a minute"]
    assert not teller.tell(news(5, "done"))[0].urgent


@pytest.mark.parametrize("absence", ["while the machine was asleep", "while slothtray was not running"])
def test_what_failed_while_nobody_could_be_told_is_one_notice_that_says_so(absence):
    assert Teller().titles(news(1), news(2), absence=absence) == [f"2 jobs failed {absence}"]
    assert Teller().titles(news(1), absence=absence) == ["Failed: job-1"]


def test_all_that_was_interrupted_is_one_notice():
    assert Teller().titles(news(1, "reclaimed")) == ["Interrupted: job-1"]
    assert Teller().titles(news(1, "reclaimed"), news(2, "reclaimed")) == ["2 jobs were interrupted"]


def test_of_a_flood_not_all_is_remembered_but_all_is_counted():
    teller = Teller()
    for job in range(1, 501):
        notices = teller.tell(news(job), after=1)
    assert notices[0].title == "500 jobs failed one after the other"
    assert len(notices[0].covers) == 50
    assert "retry" not in notices[0].offers
    assert len(teller.memory.bad.members) == 50


# --- quiet hours ------------------------------------------------------------------------------------------------------


def at(clock):
    return time.mktime(time.strptime(f"2024-03-05 {clock}", "%Y-%m-%d %H:%M"))


@pytest.mark.parametrize(
    ("hours", "quiet", "loud"),
    [
        (("22:00", "07:00"), ["22:00", "23:59", "00:00", "06:59"], ["07:00", "12:00", "21:59"]),
        (("09:00", "17:30"), ["09:00", "17:29"], ["08:59", "17:30", "00:00"]),
        (None, [], ["03:00"]),
    ],
)
def test_quiet_hours_are_local_time_and_may_go_past_midnight(hours, quiet, loud):
    assert all(is_quiet(hours, at(clock)) for clock in quiet)
    assert not any(is_quiet(hours, at(clock)) for clock in loud)


def test_in_quiet_hours_nothing_is_told_and_after_them_all_of_it_in_one():
    teller = Teller()
    assert teller.tell(news(1), news(2, "done"), quiet=True) == []
    assert teller.tell(news(3, "held"), news(4), quiet=True, after=3600) == []
    assert teller.tell(quiet=True, after=3600) == []
    (notice,) = teller.tell(after=1)
    assert notice.title == "2 jobs failed, 1 held, 1 done while it was quiet"
    assert notice.urgent
    assert teller.tell(after=1) == []
    assert teller.titles(news(5)) == ["Failed: job-5"]


def test_the_only_thing_that_happened_in_quiet_hours_is_told_as_it_would_have_been():
    teller = Teller()
    teller.tell(news(1, output=("oh",)), quiet=True)
    assert teller.tell(after=3600) == [notice_of(news(1, output=("oh",)))]


def test_of_one_job_only_what_came_last_is_told_after_quiet_hours():
    teller = Teller()
    teller.tell(news(1, "retry"), quiet=True)
    teller.tell(news(1, "reclaimed"), quiet=True)
    teller.tell(news(1, "done", "ok"), quiet=True)
    assert teller.titles(after=3600) == ["Done: job-1"]


KINDS = st.sampled_from(["failed", "held", "done", "retry", "reclaimed"])
STEP = st.tuples(st.lists(st.tuples(KINDS, st.integers(1, 6)), max_size=4), st.floats(0, 100), st.booleans(), st.sampled_from(["", "x"]))


@given(st.lists(STEP, max_size=12))
def test_every_failure_is_told_by_a_notice_of_its_own_or_counted_in_one(steps):
    teller, owed = Teller(), set()
    for what, after, quiet, absence in [*steps, ([], 1.0, False, "")]:
        one_each = {job: news(job, kind) for kind, job in what}
        notices = teller.tell(*one_each.values(), after=after, quiet=quiet, absence=absence)
        owed -= {job for job, one in one_each.items() if one.kind != "failed"}  # of one job the last word counts
        owed |= {job for job, one in one_each.items() if one.kind == "failed"}
        owed -= {job for notice in notices for job in notice.jobs}
    assert owed == set()


# --- the bulletin: from a job's end to the notice ---------------------------------------------------------------------


@pytest.fixture
def place(tmp_path):
    paths = Paths(str(tmp_path / "queue"))
    (tmp_path / "queue" / "logs").mkdir(parents=True)
    return paths


@pytest.fixture
def job(place):
    with Queue(place.database) as queue:
        yield queue.add("make -j4")


def log_of(place, job, text):
    with open(place.log(job.id), "wb") as file:
        file.write(text)


FAILED = Change(State.FAILED, "failed", "exit 127 after 3 s", {"exit_code": 127, "signal": None})


def bulletin(place, job, config, *changes, wall=0.0):
    told = []
    board = telling.Bulletin(place, told.append)
    for change in changes:
        board.note(job, change, config)
    board.flush(config, wall, 0.0, "")
    return told


def test_the_body_has_the_exit_status_in_words_and_the_last_lines_as_plain_text(place, job):
    log_of(place, job, b"one\ntwo\n\x1b[1;31mthree\x1b[0m\n\n10%\r20%\rhalf \xff\n\x1b[2K\n")
    (notice,) = bulletin(place, job, defaults(), FAILED)
    assert (notice.job, notice.title) == (job.id, "Failed: make -j4")
    assert notice.body == "exit 127 after 3 s: command not found\n10%\n20%\nhalf �"


def test_the_output_of_an_earlier_attempt_is_not_that_of_the_last(place, job):
    log_of(place, job, b"the first\n--- attempt 2, 2024-03-05 12:00:00 ---\n")
    assert bulletin(place, job, defaults(), FAILED)[0].body == "exit 127 after 3 s: command not found"
    log_of(place, job, b"the first\n--- attempt 2, 2024-03-05 12:00:00 ---\nthe second")
    assert bulletin(place, job, defaults(), FAILED)[0].body.endswith("\nthe second")


def test_three_long_lines_and_their_status_fit_into_a_bubble(place, job):
    log_of(place, job, b"x" * 9000 + b"\n" + b"y" * 500 + b"\n" + b"z" * 500)
    (notice,) = bulletin(place, job, defaults(), FAILED)
    assert len(notice.body) <= 255
    assert notice.body.count("…") == 3


@pytest.mark.parametrize("kind", ["failed", "held", "done", "retry"])
def test_the_person_is_told_what_notify_on_says_and_nothing_else(place, job, kind):
    change = Change(State.PENDING, kind, "x", {})
    assert len(bulletin(place, job, defaults()._replace(notify_on=(kind,)), change)) == 1
    assert bulletin(place, job, defaults()._replace(notify_on=()), change) == []
    assert len(bulletin(place, job, defaults(), change)) == (kind in ("failed", "held"))


def test_an_interruption_is_told_always(place, job):
    assert len(bulletin(place, job, defaults()._replace(notify_on=()), Change(State.PENDING, "reclaimed", "x", {}))) == 1


def test_that_the_queue_is_empty_is_told_but_not_in_quiet_hours(place):
    for clock, told_then in (("12:00", [EMPTY]), ("23:00", [])):
        told = []
        board = telling.Bulletin(place, told.append)
        board.note_empty()
        config = defaults()._replace(quiet_hours=("22:00", "07:00"))
        board.flush(config, at(clock), 0.0, "")
        board.flush(config, at("12:01"), 60.0, "")
        assert told == told_then
