"""Hearing of sleep and of clock steps, with a stand-in for logind on a bus of our own. The machine's clock is never touched."""

import errno
import os
import select
import signal
import threading
import time

import pytest
import session
from harness import eventually

from slothtray.clock import ManualClock
from slothtray.config import Watched, defaults
from slothtray.paths import Paths
from slothtray.runner import Loop, LoopThread, Tell
from slothtray.store import Queue
from slothtray.system import sleep
from slothtray.system.bus import BusUnavailable

LOGIN1 = "org.freedesktop.login1"


@pytest.fixture
def logind(system_bus):
    with session.StandIn(system_bus, LOGIN1, {}) as stand_in:
        yield stand_in


@pytest.fixture
def signals():
    """What listens now is closed at the end."""
    made = []
    yield lambda source: made.append(source) or source
    for source in made:
        source.close()


def goes_to_sleep(logind, *, before=True):
    logind.emit("/org/freedesktop/login1", f"{LOGIN1}.Manager", "PrepareForSleep", "b", (before,))


def readable(source, seconds=5.0):
    """As the runner waits: in a select on the descriptor."""
    return bool(select.select([source.fileno()], [], [], seconds)[0])


def heard(source):
    return readable(source) and source.drain()


@pytest.mark.parametrize("make", [sleep.Logind, sleep.listen])
def test_sleep_and_wake_are_heard(logind, signals, make):
    source = signals(make())
    for before in (True, False):
        goes_to_sleep(logind, before=before)
        assert heard(source)
        assert not source.drain()
        assert not readable(source, 0)


def test_several_at_once_are_one_ring(logind, signals):
    source = signals(sleep.listen())
    for _ in range(5):
        goes_to_sleep(logind)
    session.until(lambda: readable(source) and source.drain())
    session.until(lambda: not source.drain() and not readable(source, 0.02))


def test_other_signals_and_other_senders_are_not_a_sleep(system_bus, signals):
    source = signals(sleep.Logind())
    manager = session.DBusAddress("/org/freedesktop/login1", interface=f"{LOGIN1}.Manager")
    with system_bus.connection() as connection:
        bus = session.Proxy(session.message_bus, connection)

        def is_heard(message):
            connection.send(message)
            bus.GetId()  # answered: so the bus has passed the signal on
            return source.drain()

        assert not is_heard(session.new_signal(manager, "PrepareForSleep", "b", (True,)))
        bus.RequestName(LOGIN1)
        assert not is_heard(session.new_signal(manager, "SessionNew", "so", ("1", "/x")))
        assert is_heard(session.new_signal(manager, "PrepareForSleep", "b", (True,)))


def test_logind_may_come_later_and_again(system_bus, signals):
    source = signals(sleep.listen())
    for _ in range(2):
        with session.StandIn(system_bus, LOGIN1, {}) as late:
            goes_to_sleep(late)
            assert heard(source)


def test_draining_never_blocks(logind, signals):
    source = signals(sleep.listen())
    before = time.monotonic()
    for _ in range(100):
        assert not source.drain()
    assert time.monotonic() - before < 5


def test_no_system_bus_is_no_error(monkeypatch, tmp_path, signals):
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={tmp_path}/none")
    with pytest.raises(BusUnavailable):
        sleep.Logind()
    source = signals(sleep.listen())
    assert not source.drain()
    assert not readable(source, 0)


def test_with_no_source_at_all_there_is_nothing_to_wait_on(monkeypatch, tmp_path):
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={tmp_path}/none")
    monkeypatch.setattr(sleep, "ClockSteps", failing)
    source = sleep.listen()
    assert (source.fileno(), source.drain()) == (None, False)
    source.close()


def failing():
    raise OSError(errno.ENOSYS, "no such timer")


@pytest.mark.parametrize("answers", [True, False])
def test_a_bus_that_does_not_answer_is_given_up(tmp_path, monkeypatch, answers):
    with session.message_bus_in(tmp_path, answers=answers) as bus:
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", bus.address)
        if answers:
            bus.process.send_signal(signal.SIGSTOP)
        before = time.monotonic()
        with pytest.raises(BusUnavailable, match="the system bus does not answer"):
            sleep.Logind(timeout=0.2)
        assert 0.2 <= time.monotonic() - before < 3


def test_a_bus_that_dies_leaves_nothing_to_wait_on(system_bus, logind, signals):
    source = signals(sleep.Logind())
    system_bus.process.kill()
    assert readable(source)
    assert not source.drain()
    assert source.fileno() is None
    assert not source.drain()


def test_what_the_bus_said_last_is_heard_though_it_is_gone(system_bus, logind, signals):
    source = signals(sleep.Logind())
    goes_to_sleep(logind)
    assert readable(source)
    system_bus.process.kill()
    system_bus.process.wait()
    assert source.drain()
    assert not source.drain()
    assert source.fileno() is None


def test_a_bus_that_dies_is_no_hot_loop_and_clock_steps_are_still_heard(system_bus, logind, signals):
    source = signals(sleep.listen())
    system_bus.process.kill()
    assert readable(source)
    assert not source.drain()
    assert source.fileno() is not None
    assert not readable(source, 0.05)


def test_with_the_bus_gone_and_no_timer_the_descriptor_is_gone_too(system_bus, logind, signals, monkeypatch):
    monkeypatch.setattr(sleep, "ClockSteps", failing)
    source = signals(sleep.listen())
    system_bus.process.kill()
    assert readable(source)
    assert not source.drain()
    assert source.fileno() is None


def test_the_timer_is_cancelled_by_a_step_of_the_wall_clock_and_never_due(signals):
    source = signals(sleep.ClockSteps())
    with open(f"/proc/self/fdinfo/{source.fileno()}", encoding="ascii") as file:
        facts = dict(line.strip().split(": ", 1) for line in file if ": " in line)
    assert facts["clockid"] == str(time.CLOCK_REALTIME)
    assert facts["settime flags"] == "03"  # absolute, cancel on set
    assert int(facts["it_value"].strip("()").split(",")[0]) > 100 * 365 * 86400
    assert not readable(source, 0)
    assert not source.drain()
    assert not os.get_inheritable(source.fileno())


@pytest.mark.parametrize(("number", "rings", "lives"), [(errno.ECANCELED, True, True), (errno.EIO, False, False)])
def test_a_cancelled_timer_rings_and_a_broken_one_is_let_go(signals, monkeypatch, number, rings, lives):
    source = signals(sleep.ClockSteps())

    def read(fd, size):
        raise OSError(number, "read")

    with monkeypatch.context() as patch:
        patch.setattr(sleep.os, "read", read)
        assert source.drain() is rings
    assert (source.fileno() is not None) is lives


def test_closing_twice_is_fine(logind):
    source = sleep.listen()
    source.close()
    source.close()
    assert (source.fileno(), source.drain()) == (None, False)


# --- the runner hears of it ------------------------------------------------------------------------------------------------------


class Sleeper:
    """A runner's loop that has looked once and will not look again for a minute, unless something rings."""

    def __init__(self, path):
        self.paths = Paths(str(path / "queue"))
        self.clock, self._looked = ManualClock(), threading.Event()
        settings = Watched(self.paths.config, defaults(1.0), {"ceiling": None, "cooldown": 0.0, "settle": 1e-3})
        tell = Tell(snapshot=lambda _: self._looked.set())
        self._thread = LoopThread(lambda: Loop(self.paths, settings, tell, sleep.listen(), self.clock))
        self._thread.start()
        self.wait_for_a_look()
        self.queue = Queue(self.paths.database, self.clock)

    def wait_for_a_look(self):
        assert self._looked.wait(20)
        self._looked.clear()

    def slept(self, job=None):
        sql = "SELECT detail FROM events WHERE kind = 'slept' AND job IS ?"
        return [row["detail"] for row in self.queue.database.rows(sql, (job,))]

    def close(self):
        self._thread.stop()
        self._thread.join(20)
        self.queue.close()


@pytest.fixture
def sleeper(tmp_path, logind):
    made = Sleeper(tmp_path)
    yield made
    made.close()


def test_a_wake_that_logind_tells_of_is_in_the_history_at_once(logind, sleeper):
    goes_to_sleep(logind)
    sleeper.wait_for_a_look()
    assert sleeper.slept() == []
    sleeper.clock.suspend(7 * 3600 + 12 * 60)
    goes_to_sleep(logind, before=False)
    eventually(lambda: sleeper.slept() == ["7 h 12 min"], "the wake is in the history")


def test_case_07_what_came_due_in_a_sleep_that_logind_tells_of_runs_once(logind, sleeper, tmp_path):
    job = sleeper.queue.add(f"echo >> {tmp_path}/ran", delay=3600)
    goes_to_sleep(logind)
    sleeper.clock.suspend(7 * 3600)
    goes_to_sleep(logind, before=False)
    eventually(sleeper.slept, "the wake was heard")
    sleeper.clock.advance(1)
    goes_to_sleep(logind, before=False)
    eventually(lambda: sleeper.queue.get(job.id).state == "done", "it has run")
    assert (tmp_path / "ran").read_text() == "\n"
