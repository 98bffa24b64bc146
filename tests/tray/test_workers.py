"""Clicks and notices: whatever hangs or raises there, the rest goes on."""

import threading
import time

from slothtray.errors import PROGRAM_CHANGED, Refused, SlothtrayError
from slothtray.model import Notice
from slothtray.tray.menu import Do
from slothtray.tray.workers import Background, Clicks, Telling

LIMIT = 20.0
FAILED = Notice(12, "“make” failed", "exit 2", urgent=True)


class Record:
    """Counts calls and lets a test wait for them."""

    def __init__(self):
        self.calls = []
        self._changed = threading.Condition()

    def __call__(self, *arguments):
        with self._changed:
            self.calls.append(arguments)
            self._changed.notify_all()

    def wait(self, number):
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.calls) >= number, LIMIT), self.calls
            return self.calls


class Port:
    """Actions of a menu; ``pause`` hangs until released."""

    def __init__(self):
        self.said = Record()
        self.hang = threading.Event()

    def pause(self):
        assert self.hang.wait(LIMIT)
        self.said("pause")

    def open_log(self, job=None):
        if job == 1:
            raise Refused("job 1 has no log yet")
        if job == 2:
            raise ZeroDivisionError("oh")
        if job == 4:
            raise ModuleNotFoundError("No module named 'slothtray.system.opener'")
        self.said("log", job)

    def quit(self):
        self.said("quit")


def test_clicks_are_carried_out_in_order_off_the_callers_thread():
    port, failures = Port(), Record()
    clicks = Clicks(port, failures)
    clicks.click("Pause", Do("pause"))
    clicks.click("Open log", Do("open_log", (7,)))
    assert port.said.calls == []
    port.hang.set()
    assert port.said.wait(2) == [("pause",), ("log", 7)]


def test_quit_works_while_another_click_hangs():
    port = Port()
    clicks = Clicks(port, Record())
    clicks.click("Pause", Do("pause"))
    clicks.click("Quit", Do("quit"))
    assert port.said.wait(1) == [("quit",)]
    port.hang.set()


def test_a_click_that_fails_is_told_in_one_line_and_the_next_one_works(caplog):
    port, failures = Port(), Record()
    clicks = Clicks(port, failures)
    for number in (1, 2, 4, 3):
        clicks.click("Open log", Do("open_log", (number,)))
    assert port.said.wait(1) == [("log", 3)]
    told = ["job 1 has no log yet", "ZeroDivisionError: oh", PROGRAM_CHANGED]
    assert failures.calls == [("Open log", words) for words in told]
    assert "Traceback" in caplog.text  # of the one that is our mistake


class Service:
    """A notifier that does what its list says: None, an error to raise, or an event to hang on."""

    def __init__(self, *behaviour):
        self.behaviour = list(behaviour)
        self.asked = Record()

    def withdraw(self, job):
        self.notify(job)

    def notify(self, notice):
        self.asked(notice)
        what = self.behaviour.pop(0) if self.behaviour else None
        if isinstance(what, threading.Event):
            assert what.wait(LIMIT)
        elif what is not None:
            raise what


def test_what_the_notifier_refuses_or_chokes_on_is_given_back_and_logged(caplog):
    lost = Record()
    service = Service(SlothtrayError("no notification service is running"), ZeroDivisionError("oh"), None)
    telling = Telling(service, lost)
    for _ in range(3):
        telling.tell(FAILED)
    service.asked.wait(3)
    assert lost.wait(2) == [(FAILED,), (FAILED,)]
    assert "no notification service is running; not shown: “make” failed: exit 2" in caplog.text


def test_a_notice_that_is_not_to_be_kept_is_only_logged_when_it_could_not_be_shown(caplog):
    lost = Record()
    service = Service(SlothtrayError("no"), SlothtrayError("no"))
    telling = Telling(service, lost)
    telling.tell(FAILED._replace(keep=False, title="welcome"))
    telling.tell(FAILED)
    assert lost.wait(1) == [(FAILED,)]
    assert "no; not shown: welcome" in caplog.text


def test_a_notifier_that_hangs_costs_one_thread_and_nothing_is_lost():
    hang, lost = threading.Event(), Record()
    service = Service(hang, None)
    before = set(threading.enumerate())
    telling = Telling(service, lost, limit=0.3)
    for _ in range(20):
        telling.tell(FAILED)
    assert lost.wait(20) == [(FAILED,)] * 20
    assert len(service.asked.calls) == 1
    assert len(set(threading.enumerate()) - before) == 2
    hang.set()
    while len(service.asked.calls) == 1:  # works again as soon as it answers
        telling.tell(FAILED)
        time.sleep(0.005)
    assert service.asked.wait(2)


def test_one_who_takes_back_and_fails_is_survived():
    service = Service(SlothtrayError("no"), None)

    def cannot(_notice):
        raise ZeroDivisionError

    telling = Telling(service, cannot)
    telling.tell(FAILED)
    telling.tell(FAILED)
    service.asked.wait(2)


def test_an_urgent_notice_is_withdrawn_once_and_in_its_turn():
    service = Service()
    telling = Telling(service, Record())
    telling.withdraw(12)
    telling.tell(FAILED)
    telling.tell(FAILED._replace(job=13, urgent=False))
    for job in (12, 12, 13):
        telling.withdraw(job)
    telling.tell(FAILED)
    assert service.asked.wait(4) == [(FAILED,), (FAILED._replace(job=13, urgent=False),), (12,), (FAILED,)]


def test_a_notice_that_cannot_be_withdrawn_is_not_told_as_one_that_was_not_shown(caplog):
    lost = Record()
    caplog.set_level("INFO")
    telling = Telling(Service(None, SlothtrayError("no answer"), SlothtrayError("no answer")), lost)
    telling.tell(FAILED)
    telling.withdraw(12)
    telling.tell(FAILED)
    assert lost.wait(1) == [(FAILED,)]
    assert "no answer; the notice about job 12 stays" in caplog.text


def test_what_is_asked_for_many_times_while_it_is_done_is_done_once_more(caplog):
    def call():
        done()
        if len(done.calls) == 1:
            assert goes_on.wait(LIMIT)
        if len(done.calls) == 2:
            raise ZeroDivisionError("oh")

    done, goes_on = Record(), threading.Event()
    background = Background("looks", call)
    background.ask()
    done.wait(1)
    for _ in range(20):
        background.ask()
    goes_on.set()
    done.wait(2)
    time.sleep(0.05)
    assert len(done.calls) == 2
    background.ask()  # and a failure is survived
    done.wait(3)
    assert "ZeroDivisionError: oh" in caplog.text
