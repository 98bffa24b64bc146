"""Which notices a person gets of what happened, and when: one for each job, one for many at once, none in quiet hours. Pure.

Whoever is told of every one of fifty failures looks at none of them. So what comes in a burst becomes one notice that counts,
and what comes in quiet hours one notice after them. Nothing is dropped: list, menu and badge tell each job by itself.
"""

import signal
import time
from collections.abc import Collection, Sequence
from typing import NamedTuple

from slothtray.model import Notice
from slothtray.text import clean

MANY = 3
"""So many jobs …"""
WINDOW = 60.0
"""… within so many seconds awake are told together. The burst is over when nothing of its kind has come for as long."""
REMEMBERED = 50
"""Jobs of a burst that are known by name; the others are counted."""
LINES = 3
NAME, LINE = 60, 70
"""Characters of a job's name in a title, and of a line in a body: three lines and what they are about fit into 255."""

EMPTY = Notice(None, "The queue is empty", "All jobs are over.", urgent=False)


class News(NamedTuple):
    """What happened to one job: the ``kind`` of event, how the job is called, how its attempt ended, the last it has written."""

    kind: str
    job: int
    name: str
    outcome: str
    output: tuple[str, ...] = ()


class Moment(NamedTuple):
    """When it is told. ``awake`` in seconds; ``absence``: why nobody could be told before ("while the machine slept"), or ""."""

    awake: float
    quiet: bool = False
    absence: str = ""


class Burst(NamedTuple):
    """News of one sort that may belong together, the oldest first, each with the time awake of its telling.

    ``jobs`` is their number, also of those that are not remembered; ``grouped``: they are told in one.
    ``began`` is the time of the first.
    """

    members: tuple[tuple[News, float], ...] = ()
    jobs: int = 0
    grouped: bool = False
    began: float = 0.0


class Memory(NamedTuple):
    """What has to be known of earlier news: the burst of bad and that of good ones, and what quiet hours keep back."""

    bad: Burst = Burst()
    good: Burst = Burst()
    kept: tuple[News, ...] = ()


def sort_out(news: Sequence[News], memory: Memory, moment: Moment) -> tuple[list[Notice], Memory]:
    """The notices that these news make now, and what to remember. To be asked without news too: quiet hours end some time."""
    if moment.quiet:
        return [], Memory(kept=_last_of_each((*memory.kept, *news)))
    if memory.kept:
        kept = _last_of_each((*memory.kept, *news))
        return [notice_of(kept[0]) if len(kept) == 1 else _several(kept, len(kept), "while it was quiet")], Memory()
    bad, worse = _burst(memory.bad, _only(news, "failed", "held"), moment)
    good, better = _burst(memory.good, _only(news, "done"), moment)
    others = [notice_of(one) for one in _only(news, "retry")]
    return [*_interrupted(_only(news, "reclaimed")), *others, *good, *bad], Memory(worse, better)


def notice_of(news: News) -> Notice:
    """The notice about one job."""
    title, urgent, offers = _LOOKS[news.kind]
    body = [news.outcome, *news.output]
    if news.kind == "held":
        body.append(f"`slothtray release {news.job}` queues it")
    return Notice(news.job, f"{title}: {clean(news.name, NAME)}", "\n".join(body), urgent=urgent, offers=offers)


def queued(job: int, command: str) -> str:
    """One line about a job that was added: nobody has read its id, and of a long command nobody has seen all."""
    return f"job {job}: {clean(command, NAME)}"


def is_quiet(hours: tuple[str, str] | None, wall: float) -> bool:
    """Whether a moment (wall time) lies in these daily hours of local time, such as ("22:00", "07:00")."""
    if hours is None:
        return False
    now, (begin, end) = time.strftime("%H:%M", time.localtime(wall)), hours
    return begin <= now < end if begin < end else now >= begin or now < end


def ending_words(outcome: str, exit_code: int | None, signal_number: int | None) -> str:
    """How an attempt ended, with the meaning of its number where that has one: "exit 127: command not found"."""
    meaning = _MEANINGS.get(exit_code or 0, "")
    if signal_number is not None:
        meaning = _signal_words(signal_number)
    elif exit_code is not None and exit_code > 128:  # what a shell says of a command that a signal ended
        words = _signal_words(exit_code - 128)
        meaning = f"signal {exit_code - 128}, {words}" if words else ""
    return f"{outcome}: {meaning}" if meaning else outcome


_MEANINGS = {126: "the command can't be run", 127: "command not found"}

_LOOKS = {
    "failed": ("Failed", True, ("open_log", "retry")),
    "held": ("Held", True, ("open_log", "release")),
    "done": ("Done", False, ("open_log",)),
    "retry": ("To be tried again", False, ("open_log",)),
    "reclaimed": ("Interrupted", False, ("open_log",)),
}
"""By kind: how the title begins, whether it is urgent, what can be done on the spot."""

_COUNTED = {"failed": "failed", "held": "held", "done": "done", "retry": "to be tried again", "reclaimed": "interrupted"}


def _signal_words(number: int) -> str:
    try:
        return (signal.strsignal(number) or "").lower()
    except ValueError:
        return ""


def _only(news: Sequence[News], *kinds: str) -> list[News]:
    return [one for one in news if one.kind in kinds]


def _last_of_each(news: Sequence[News]) -> tuple[News, ...]:
    """Of each job what came last: that it failed is told, that it was to be tried again before is not."""
    last = {one.job: one for one in news}
    return tuple(sorted(last.values(), key=news.index))


def _interrupted(news: list[News]) -> list[Notice]:
    """One notice for all that was interrupted, since they were interrupted by the same thing."""
    if len(news) < 2:
        return [notice_of(one) for one in news]
    return [Notice(None, f"{len(news)} jobs were interrupted", "they are queued again", urgent=False)]


def _burst(burst: Burst, news: Sequence[News], moment: Moment) -> tuple[list[Notice], Burst]:
    """The notices about news of one sort: one each, or one about all of the burst they belong to."""
    burst = _still_going_on(burst, moment.awake)
    if not news:
        return [], burst
    burst = _joined(burst, news, moment.awake)
    burst = burst._replace(grouped=burst.grouped or burst.jobs >= MANY or (bool(moment.absence) and burst.jobs > 1))
    if not burst.grouped:
        return [notice_of(one) for one in news], burst
    at_once = moment.awake - burst.began <= WINDOW
    when = moment.absence or ("within a minute" if at_once else "one after the other")
    return [_several([one for one, _ in burst.members], burst.jobs, when)], burst


def _still_going_on(burst: Burst, awake: float) -> Burst:
    """What is left of a burst: all while it goes on, else what was told within the window."""
    young = tuple(member for member in burst.members if awake - member[1] <= WINDOW)
    if burst.grouped and young:
        return burst
    return Burst(young, len(young), began=young[0][1] if young else 0.0)


def _joined(burst: Burst, news: Sequence[News], awake: float) -> Burst:
    """The burst with these in it. A job counts once, however often it fails."""
    known = {one.job for one, _ in burst.members}
    fresh = {one.job: (one, awake) for one in news}
    older = [member for member in burst.members if member[0].job not in fresh]
    return burst._replace(
        members=(*older, *fresh.values())[-REMEMBERED:],
        jobs=burst.jobs + len(fresh.keys() - known),
        began=burst.began if burst.members else awake,
    )


def _several(news: Sequence[News], count: int, when: str) -> Notice:
    """One notice about ``count`` jobs, of which ``news`` are the last."""
    kinds = [one.kind for one in news]
    words = _tally(kinds, count)
    shown = [f"{clean(one.name, 40)}: {clean(one.outcome, 28)}" for one in news[-LINES:]]
    more = [f"and {count - len(shown)} more"] if count > len(shown) else []
    bad = bool({"failed", "held"} & set(kinds))
    all_of_them = len(news) == count
    offers = ("open_log", "retry") if all_of_them and set(kinds) == {"failed"} else ("open_log",)
    covers = tuple(one.job for one in news)
    return Notice(None, f"{words} {when}", "\n".join(shown + more), urgent=bad, offers=offers, covers=covers)


def _tally(kinds: Collection[str], count: int) -> str:
    """Like "3 jobs failed, 1 held"."""
    if count > len(kinds):  # of the others nothing but their number is known
        return f"{count} jobs {' or '.join(words for kind, words in _COUNTED.items() if kind in kinds)}"
    numbers = [(sum(one == kind for one in kinds), words) for kind, words in _COUNTED.items() if kind in kinds]
    (first, words), *rest = numbers
    return ", ".join([f"{first} job{'s' * (first > 1)} {words}", *(f"{number} {words}" for number, words in rest)])
