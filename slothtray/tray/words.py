"""How the tray words what it shows: short, clean, and with a job's name the first to be cut. Pure."""

from slothtray.model import NEVER, Face, Job, Snapshot, State
from slothtray.policy import clock_words
from slothtray.text import clean, duration_words

LABEL_LIMIT = 60
"""Characters of a label: about what a menu shows without covering the screen."""
DETAIL_LIMIT = 30
CLIPPING_LOOKED_AT = 400
"""Characters of a copied text that are looked at for its preview: it may have a million."""


def job_words(job: Job) -> str:
    """What a person calls the job: its label, else its command, else its number."""
    return job.label or job.command or f"job {job.id}"


def headline(snapshot: Snapshot, limit: int) -> str:
    """What is going on and why. Beginning in lower case, not yet clean, and only roughly within the limit."""
    if snapshot.face is Face.RUNNING:
        return _running(snapshot, limit)
    if snapshot.face is Face.PAUSED:
        return pause(snapshot)
    return f"{snapshot.face}: {snapshot.reason}" if snapshot.reason else str(snapshot.face)


def pause(snapshot: Snapshot) -> str:
    """That it is paused, and until when."""
    return "paused" if snapshot.paused_until is None else f"paused until {_clock(snapshot.paused_until, snapshot)}"


def about(what: str, job: Job, detail: str = "", limit: int = LABEL_LIMIT) -> str:
    """Like "Failed: make -j4 (exit 2)": it is the job's name that gets cut, not what there is to say of it."""
    what = f"{what}: " if what else ""
    detail = clean(f" ({detail})", DETAIL_LIMIT) if detail else ""
    name = clean(job_words(job), limit - len(what) - len(detail) - 1) or f"job {job.id}"
    return f"{what}{name} {detail}".rstrip()


def wait(job: Job, snapshot: Snapshot) -> str:
    """What a pending job waits for beside its turn; "" for nothing."""
    if job.not_before == NEVER:
        return f"after job {job.after}"
    if job.not_before <= snapshot.at:
        return ""
    attempt = f"attempt {job.attempts + 1} " if job.failures or job.unstarted else ""
    return f"{attempt}at {_clock(job.not_before, snapshot)}"


def outcome(job: Job) -> str:
    """How a finished job ended."""
    if job.state is not State.DONE:
        return job.message or str(job.state)
    if job.message not in (None, "ok"):
        return f"done: {job.message}".replace("done: ok, ", "done, ")
    took = (job.finished_at or 0.0) - (job.started_at or 0.0)
    return f"done in {duration_words(took)}" if job.started_at and took >= 1 else "done"


def clipping(text: str) -> str:
    """What a click would queue: "Add “make -j4”", "Add 3 lines “cd src ↵ make …”"."""
    lines = text.count("\n") + 1
    what = "Add" if lines == 1 else f"Add {lines} lines"
    return f"{what} “{clean(text[:CLIPPING_LOOKED_AT], LABEL_LIMIT - len(what) - 3)}”"


def count(number: int, noun: str) -> str:
    """Say "1 job", "2 jobs"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def capital(words: str) -> str:
    """The words with a capital at the beginning."""
    return words[:1].upper() + words[1:]


def fit(line: str, units: int) -> str:
    """``line`` in at most so many UTF-16 units: an emoji takes two."""
    limit = units
    while len(line.encode("utf-16-le")) > 2 * units:
        line = clean(line, limit)
        limit -= 1
    return line


def _running(snapshot: Snapshot, limit: int) -> str:
    job = snapshot.running
    if job is None:
        return snapshot.reason or "running"
    since = [f"since {_clock(job.started_at, snapshot)}"] if job.started_at is not None else []
    attempt = [f"attempt {job.attempts}"] if job.attempts > 1 else []
    stuck = [job.reason] if job.reason else []  # that something of it can't be killed, which says more than since when
    return about("running", job, ", ".join(stuck or since + attempt), limit)


def _clock(wall: float, snapshot: Snapshot) -> str:
    return clock_words(wall, snapshot.at or None)
