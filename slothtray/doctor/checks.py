"""What a check says, and how checks are run: all at once, each within its own time and none with a traceback."""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from slothtray.errors import SlothtrayError

OK, WARNING, PROBLEM = "ok", "warning", "problem"

LIMIT = 5.0
"""Seconds for a check: one that asks a bus that hangs has its answer, or none, after 2."""


class Check(NamedTuple):
    """One line of the doctor's. ``fix``: the command, or the words, that mend it; "" where nothing is to be mended."""

    name: str
    status: str
    detail: str
    fix: str = ""


class Examination(NamedTuple):
    """A check to be made: ``make`` may take its time and raise anything; ``limit`` in seconds."""

    name: str
    make: Callable[[], Check | list[Check]]
    limit: float = LIMIT


def run(examinations: Sequence[Examination]) -> list[Check]:
    """Make all checks side by side; what they say, in the order given. Takes as long as the longest limit at most."""
    begun = time.monotonic()
    answers = [_begin(one) for one in examinations]
    found: list[Check] = []
    for one, answer in zip(examinations, answers, strict=True):
        try:
            said = answer.get(timeout=max(0.0, begun + one.limit - time.monotonic()))
        except queue.Empty:
            said = Check(one.name, PROBLEM, f"no answer within {one.limit:g} s")
        found += [said] if isinstance(said, Check) else said
    return found


def _begin(one: Examination) -> "queue.SimpleQueue[Check | list[Check]]":
    """On a daemon thread: one that hangs must not keep the doctor."""
    answer: queue.SimpleQueue[Check | list[Check]] = queue.SimpleQueue()

    def make() -> None:
        try:
            answer.put(one.make())
        except SlothtrayError as error:
            answer.put(Check(one.name, PROBLEM, error.title, error.message))
        except Exception as error:
            answer.put(Check(one.name, WARNING, f"this could not be looked at: {type(error).__name__}: {error}"))

    threading.Thread(target=make, name=f"doctor: {one.name}", daemon=True).start()
    return answer
