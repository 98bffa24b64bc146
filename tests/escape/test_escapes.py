"""What outlives a kill: ten ways, each at the job's limit, at a cancel, and after the SIGKILL of its supervisor.

In PID namespaces of their own, whose every process is the test's: what is left over there is counted, zombies too.
"""

import os
import signal
from pathlib import Path

import pytest
from escapes import WAYS, crowd, last_pid, nothing_is_born, others
from harness import Home, eventually, identity, let_go
from private import in_namespace
from supervised import Supervised

from slothtray.system import records

LIMIT = 3.0
"""Seconds. Their supervisors are stopped until all have escaped, which does not count."""
SLOW = 120.0
"""Seconds that a namespace may take on a machine with much else to do; it takes 10."""


def alive(*known):
    return [entry for entry in others(*known) if entry.state not in "ZX"]


def zombies():
    return [entry for entry in others() if entry.state in "ZX"]


# --- the supervisor ends its tree ------------------------------------------------------------------------------------------------


def ended(folder, way):
    """All ten side by side, each under a supervisor of its own: why each ended, what it could not kill, what is left of all."""
    attempts = {}
    for name, command in WAYS.items():
        place = Path(folder, name.replace(" ", "-"))
        place.mkdir()
        attempts[name] = attempt = Supervised(place)
        attempt.start(command, max_runtime=LIMIT if way == "limit" else None)
        attempt.process.send_signal(signal.SIGSTOP)
    for attempt in attempts.values():
        attempt.job_ready()
    for attempt in attempts.values():
        if way == "cancel":
            attempt.process.send_signal(signal.SIGUSR1)
        attempt.process.send_signal(signal.SIGCONT)
    whys = {name: [attempt.end().why, attempt.record.unkillable] for name, attempt in attempts.items()}
    left = alive()
    eventually(lambda: not zombies(), "the zombies are buried")
    return [whys, left, nothing_is_born()]


@pytest.mark.timeout(2 * SLOW)
@pytest.mark.parametrize(("way", "why"), [("limit", "timeout"), ("cancel", "cancel")])
def test_nothing_outlives_a_limit_or_a_cancel(tmp_path, way, why):
    whys, left, still = in_namespace(ended, str(tmp_path), way, limit=SLOW)
    assert whys == {name: [why, []] for name in WAYS}
    assert left == []
    assert still


# --- the supervisor is killed: the app sweeps ------------------------------------------------------------------------------------

AT_THE_SECOND_ATTEMPT = 'if [ "$SLOTHTRAY_ATTEMPT" != 1 ]; then : > again; read -r _ < go; exit 0; fi\n'


class Broken:
    """An app among many other processes, whose supervisors are killed."""

    def __init__(self, folder):
        self.crowd = crowd()
        self.home = Home(Path(folder, "queue"))
        self.app = self.home.start()

    def begin(self, command):
        """Let a job run, and wait until it has made `ready`."""
        os.mkfifo(self.home.work / "go")
        self.number = self.home.enqueue(AT_THE_SECOND_ATTEMPT + command)
        eventually((self.home.work / "ready").exists, "it has escaped")

    def kill_supervisor(self, *, app_too=False):
        """SIGKILL, as the kernel does when memory is short; the app may be started again only then."""
        if app_too:
            self.app.kill()
        os.kill(self.supervisor(), signal.SIGKILL)
        if app_too:
            self.app = self.home.start()

    def supervisor(self):
        """The pid in the record of the job's present run."""
        look = records.open_for_look(self.home.paths.run_record(self.home.row(self.number, "run")))
        try:
            return records.read(look).started.pid
        finally:
            os.close(look)

    def outcome(self):
        """What lives beside the next attempt, if there is one, and whether it goes on multiplying; the job's history and reason."""
        home = self.home
        eventually(lambda: (home.work / "again").exists() or home.row(self.number) == "held", "the app has seen to it")
        held = home.row(self.number) == "held"
        left, still = alive(self.crowd, self.app.process.pid), nothing_is_born()
        reason = home.row(self.number, "reason")
        if not held:
            let_go(home.work / "go")
            home.wait_for(self.number, "done", "failed")
        eventually(lambda: not zombies(), "the zombies are buried")
        return [[entry.pid for entry in left], still, home.kinds(self.number), reason]

    def tidy(self):
        """Make room for the next job."""
        for file in self.home.work.iterdir():
            file.unlink()


def start_forking(home):
    """And wait until it has got going."""
    os.kill(int(home.wrote("ready")), signal.SIGUSR2)
    goal = int(last_pid()) + 20
    eventually(lambda: int(last_pid()) > goal, "it forks")


APP_TOO = ("Python daemon", "stopped child")


def swept(folder):
    """The ten one after the other; of two the app is killed too, and finds them when it is started again."""
    broken, found = Broken(folder), {}
    for name, command in WAYS.items():
        broken.begin(command)
        if name == "forks for ever":
            start_forking(broken.home)
        broken.kill_supervisor(app_too=name in APP_TOO)
        found[name] = broken.outcome()
        broken.tidy()
    broken.home.close()
    return found


@pytest.mark.timeout(2 * SLOW)
def test_nothing_outlives_the_sweep_after_the_supervisors_death(tmp_path):
    found = in_namespace(swept, str(tmp_path), limit=SLOW)
    once_more = ["added", "claimed", "reclaimed", "claimed", "done"]
    assert found == {way: [[], True, once_more, None] for way in WAYS}




# --- what can't be proven --------------------------------------------------------------------------------------------------------

NAMELESS = "(env -i setsid sh -c 'echo $$ > ready.new; mv ready.new ready; exec sleep 300' &); sleep 300"
"""It has neither cookie nor session nor group of its run, and no parent that would tell."""


def unproven(folder):
    """After the supervisor's death: the one that can't be known, what is said of it, whether it lives, whether the queue goes on."""
    broken = Broken(folder)
    home = broken.home
    broken.begin(NAMELESS)
    nameless = int(home.wrote("ready"))
    following = home.enqueue("true")
    broken.kill_supervisor()
    left, _, kinds, reason = broken.outcome()
    home.wait_for(following, "done")
    said = [home.run(*words, env={**home.environment, "COLUMNS": "300"}).stdout for words in (["list"], ["show", "1"])]
    lives = identity(nameless) is not None
    home.run("release", "1")
    eventually((home.work / "again").exists, "it runs once more, now that the person says so")
    os.kill(nameless, signal.SIGKILL)
    home.close()
    return [left == [nameless], kinds, reason == WORDS.format(nameless), [reason in words for words in said], lives]


WORDS = "its supervisor was killed, and these may still be of it: {}"


@pytest.mark.timeout(2 * SLOW)
def test_a_job_is_held_and_names_what_may_still_be_of_it_and_that_is_left_alone(tmp_path):
    found = in_namespace(unproven, str(tmp_path), limit=SLOW)
    assert found == [True, ["added", "claimed", "held"], True, [True, True], True]
