"""`slothtray list` and `slothtray show`."""

import json
import shutil

from slothtray import bell
from slothtray.cli import render
from slothtray.cli.parser import Parsed
from slothtray.clock import Clock
from slothtray.errors import Usage
from slothtray.model import Job, State
from slothtray.paths import Paths
from slothtray.store import Queue, person, reading, status
from slothtray.system.folder import holder_of

UNFINISHED_SHOWN, FINISHED_SHOWN = 50, 10


def run(parsed: Parsed, paths: Paths) -> int:
    """Show the queue, or one job."""
    queue = Queue(paths.database)
    try:
        if parsed.command.name == "show":
            return _show(parsed, paths, queue)
        return _list(parsed, paths, queue)
    finally:
        queue.close()


def print_job_json(paths: Paths, number: int) -> None:
    """What `add --json` prints."""
    queue = Queue(paths.database)
    try:
        job = person.find(queue.database, number)
    finally:
        queue.close()
    print(json.dumps({"version": 1, "job": render.job_json(job, paths, 1)}))


def _list(parsed: Parsed, paths: Paths, queue: Queue) -> int:
    now = Clock().wall()
    state = parsed.text("state")
    if state is not None and state not in set(State):
        raise Usage(f"there is no state {state!r}", "use one of " + ", ".join(State))
    jobs = _jobs(queue, state, parsed.whole("limit"))
    alive = bell.answered(paths)
    said = status.status_of(queue.database)
    if parsed.flag("json"):
        shown = [render.job_json(job, paths, 1) for job in jobs]
        print(json.dumps({"version": 1, "queue": _queue_json(queue, paths, said if alive else None, now), "jobs": shown}))
        return 0
    _print_list(queue, jobs, said if alive else None, now)
    return 0


def _jobs(queue: Queue, state: str | None, limit: int | None) -> list[Job]:
    database = queue.database
    if state is not None:
        return reading.in_state(database, State(state), limit or UNFINISHED_SHOWN)
    unfinished = [
        *reading.running(database),
        *reading.next_up(database, limit or UNFINISHED_SHOWN),
        *reading.held(database, limit or UNFINISHED_SHOWN),
    ]
    return unfinished + reading.recent(database, limit or FINISHED_SHOWN)


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


def _print_list(queue: Queue, jobs: list[Job], said: status.Status | None, now: float) -> None:
    reason = said.reason if said is not None else "no app is running"
    rows: list[tuple[str, ...]] = [("ID", "STATE", "PRI", "COMMAND", "")]
    rows += [
        (str(job.id), str(job.state), str(job.priority), job.label or job.command, render.what_of(job, now, reason)) for job in jobs
    ]
    if len(rows) == 1:
        print('The queue is empty. Add a job with `slothtray add "make -j4"`.')
    else:
        print(render.table(rows, shutil.get_terminal_size().columns))
    if status.pause_of(queue.database, now):
        print("The queue is paused; `slothtray resume` goes on.")


def _show(parsed: Parsed, paths: Paths, queue: Queue) -> int:
    from slothtray.durations import parse_ids

    ids = parse_ids(parsed.words)
    if len(ids) != 1:
        raise Usage("`slothtray show` takes one ID")
    job = person.find(queue.database, ids[0])
    events = queue.events(job.id)
    with queue.database.write():
        person.mark_seen(queue.database, job.id)
    bell.ring(paths)
    if parsed.flag("json"):
        print(json.dumps({"version": 1, "job": render.job_json(job, paths, 1), "events": [render.event_json(e) for e in events]}))
    else:
        print(render.job_text(job, events, paths, Clock().wall()))
    return 0
