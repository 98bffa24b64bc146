"""The tray application with a stand-in for the runner that obeys its stdin; started by tests. Tells on stdout what was clicked.

Lines of stdin: ``face NAME``, ``failed`` (a failure that nobody has seen), ``flood N [RATE]`` (N changes, at once or RATE a second), ``die`` (the runner ends).
"""

import logging
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from slothtray.model import Face
from slothtray.tray.app import Port, run_app
from slothtray.tray.menu import STARTING


def say(*words):
    print(*words, flush=True)


class Obedient:
    """A runner in name only."""

    def __init__(self):
        self.snapshot = STARTING._replace(reason="")
        self.over = threading.Event()

    def make(self, on_snapshot, _on_notice):
        self.show = on_snapshot
        return self

    def start(self):
        self.change()
        threading.Thread(target=self.obey, daemon=True).start()

    def obey(self):
        for line in sys.stdin:
            word, *rest = line.split()
            getattr(self, word)(*rest)

    def change(self, **what):
        self.snapshot = self.snapshot._replace(**what)
        self.show(self.snapshot)

    def face(self, name):
        self.change(face=Face(name), reason="load 2.91 > 1.50 since 14:02" if name == "waiting" else "")

    def failed(self):
        self.change(failed_unseen=1)

    def flood(self, number, rate=0):
        begun = time.monotonic()
        for turn in range(int(number)):
            self.change(face=list(Face)[turn % 4], pending=turn)
            if rate:
                time.sleep(max(0, begun + (turn + 1) / int(rate) - time.monotonic()))
        say("flooded")

    def die(self):
        self.over.set()

    def pause(self, seconds):
        say("pause" if seconds is None else f"pause {seconds:g}")
        self.change(face=Face.PAUSED, paused=True, reason="paused")

    def resume(self):
        say("resume")
        self.change(face=Face.IDLE, paused=False, reason="")

    def stop(self):
        self.over.set()

    def join(self, timeout=None):
        self.over.wait(timeout)

    def is_alive(self):
        return not self.over.is_set()

    def remark(self, words):
        say("remark", words)


class Silent:
    def listen(self, on_choice):
        pass

    def notify(self, notice):
        say("notice", notice.title)

    def withdraw(self, job):
        say("withdrawn", job)


def main():
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    runner = Obedient()
    port = Port(
        pause=runner.pause,
        resume=runner.resume,
        change=lambda name, jobs: say(name, *jobs),
        copied=lambda: "make -j4",
        add=lambda text: say("add", text) or "job 1",
        copy=lambda text: say("copy", text),
        open_log=lambda job, _on_failure: say("log", job),
    )
    sys.exit(run_app(runner.make, port, Silent()))


if __name__ == "__main__":
    main()
