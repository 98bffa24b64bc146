"""`slothtray list` and `slothtray show`."""

import json
import sys

from slothtray import actions
from slothtray.cli import render, settings
from slothtray.cli.parser import Parsed
from slothtray.cli.said import said_by_app
from slothtray.clock import Clock
from slothtray.durations import parse_id
from slothtray.errors import Usage
from slothtray.model import Job, State
from slothtray.paths import Paths
from slothtray.store import Queue, person, reading, status
from slothtray.system.folder import holder_of
from slothtray.text import clean

UNFINISHED_SHOWN, FINISHED_SHOWN = 50, 10
NO_APP = "no app is running"


def run(parsed: Parsed, paths: Paths) -> int:
    """Show the queue, or one job."""
    queue = Queue(paths.database)
    try:
        return _show(parsed, paths, queue) if parsed.command.name == "show" else _list(parsed, paths, queue)
    finally:
        queue.close()


def print_added(paths: Paths, numbers: list[int], *, many: bool) -> None:
    """What `add --json` prints: the job, or the jobs that came from standard input."""
    config = settings.reading(paths).config
    queue = Queue(paths.database)
    try:
        jobs = [render.job_json(person.find(queue.database, number), paths, config) for number in numbers]
    finally:
        queue.close()
    print(json.dumps({"version": 1, "jobs": jobs} if many else {"version": 1, "job": jobs[0]}))


# --- list -------------------------------------------------------------------------------------------------------------------


def _list(parsed: Parsed, paths: Paths, queue: Queue) -> int:
    now = Clock().wall()
    limit = parsed.whole("limit")
    if limit is not None and limit < 1:
        raise Usage(f"-n {limit} would show nothing", "use 1 or more")
    jobs = reading.listed(queue.database, _wanted(parsed), limit or UNFINISHED_SHOWN, limit or FINISHED_SHOWN)
    said = said_by_app(queue.database, paths)
    if parsed.flag("json"):
        config = settings.reading(paths).config
        shown = [render.job_json(job, paths, config) for job in jobs]
        print(json.dumps({"version": 1, "queue": _queue_json(queue, paths, said, now), "jobs": shown}))
        return 0
    print(_heading(queue, said, now))
    if said is not None and said.remark:
        for words in said.remark.splitlines():
            print(f"Note: {clean(words)}")
    if jobs:
        colour = render.wants_colour(sys.stdout)
        print(render.table(_rows(queue, jobs, said, now), render.list_width(sys.stdout), colour=colour))
    more = reading.how_many(queue.database, _wanted(parsed)) - len(jobs)
    if more > 0:
        print(f"and {more} more (-n {len(jobs) + more} shows them)")
    return 0


def _wanted(parsed: Parsed) -> reading.Wanted:
    state, label = parsed.text("state"), parsed.text("label")
    if state is not None and state not in set(State):
        raise Usage(f"there is no state {state!r}", "use one of " + ", ".join(State))
    if label is not None:
        label = label.encode("utf-8", "backslashreplace").decode()  # no job's has other bytes: SQLite can't be asked for them
    return reading.Wanted(State(state) if state is not None else None, label)


def _queue_json(queue: Queue, paths: Paths, said: status.Status | None, now: float) -> dict[str, object]:
    counts = reading.counts(queue.database)
    load = said.load if said is not None else None
    return {
        "state": _state(queue, counts, said, now),
        "reason": said.reason if said is not None else None,
        "running": counts.running,
        "held": counts.held,
        "failed_unseen": counts.unseen,
        "load": load._asdict() if load is not None else None,
        "app": {"running": said is not None, "pid": holder_of(paths) if said is not None else None},
    }


def _state(queue: Queue, counts: reading.Counts, said: status.Status | None, now: float) -> str:
    if counts.running:
        return "running"
    if status.pause_of(queue.database, now):
        return "paused"
    return "waiting" if counts.pending or (said is not None and said.state == "waiting") else "idle"


def _heading(queue: Queue, said: status.Status | None, now: float) -> str:
    """One line: what the queue does, why nothing starts, how much there is."""
    counts = reading.counts(queue.database)
    state = _state(queue, counts, said, now)
    pause = status.pause_of(queue.database, now)
    reason = NO_APP if said is None else clean(said.reason or "")
    words = [state.capitalize() + (f" ({reason})" if reason not in ("", state) else "")]
    if pause is not None and state != "paused":
        words.append("paused")
    words += [f"{n} {name}" for n, name in ((counts.pending, "pending"), (counts.held, "held"), (counts.unseen, "failed")) if n]
    hint = "" if counts.running + counts.pending + counts.held else '. Add a job with `slothtray add "make -j4"`'
    return ", ".join(words) + hint


def _rows(queue: Queue, jobs: list[Job], said: status.Status | None, now: float) -> list[render.Row]:
    rows: list[render.Row] = []
    ahead: int | None = next((job.id for job in jobs if job.state is State.RUNNING), None)
    gate = NO_APP if said is None else said.reason
    for job in jobs:
        reason = gate if ahead is None else f"behind {ahead}"
        usual = reading.usual(queue.database, job) if job.state in (State.RUNNING, State.PENDING) else None
        what = render.what_of(job, now, reason, usual)
        flag = "!" if job.state is State.FAILED and not job.seen else ""
        rows.append(render.Row(job.state, str(job.id), flag, str(job.priority), render.name_of(job), what))
        if job.state is State.PENDING and job.not_before <= now:
            ahead = job.id
    return rows


# --- show -------------------------------------------------------------------------------------------------------------------


def _show(parsed: Parsed, paths: Paths, queue: Queue) -> int:
    job = person.find(queue.database, parse_id(parsed.words[0]))
    # What it slept through while it waited is written once, for the whole queue.
    events = sorted([*queue.events(job.id), *reading.sleeps(queue.database, job)], key=lambda event: event.id)
    actions.look_at(paths, queue, job)
    now = Clock().wall()
    if parsed.flag("json"):
        told = render.job_json(job, paths, settings.reading(paths).config)
        print(json.dumps({"version": 1, "job": told, "events": [render.event_json(event) for event in events]}))
    else:
        reason = _why_pending(queue, paths, job, now) if job.state is State.PENDING else None
        print(render.job_text(job, events, paths, now, reason, reading.usual(queue.database, job)))
    return 0


def _why_pending(queue: Queue, paths: Paths, job: Job, now: float) -> str | None:
    """As in the list, without counting who goes first: that takes as long as there are many."""
    first = next((one.id for one in reading.running(queue.database)), None) or reading.next_due(queue.database)
    if job.not_before <= now and not job.start_now and first not in (None, job.id):
        return f"behind {first}"
    said = said_by_app(queue.database, paths)
    return said.reason if said is not None else NO_APP
