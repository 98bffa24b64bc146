"""Between rows and values: how a Job and an Event are read, and how texts of any bytes are kept as ASCII JSON."""

import json

from slothtray.states import State

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

    from slothtray.model import Event, Job

JOB_COLUMNS = (
    "id, state, command, argv, label, priority, attempts, failures, interruptions, unstarted, max_attempts, max_runtime, once,"
    " exit_code, signal, message, reason, created_at, not_before, started_at, finished_at, after, expires_at, cwd, umask, run,"
    " holder, machine, boot, lease_until, cancel_requested, start_now, seen, dropped"
)


def encode(value: object) -> str:
    """ASCII JSON. Lone surrogates, which stand for bytes that are no UTF-8 (surrogateescape), survive as escapes."""
    return json.dumps(value, separators=(",", ":"))


def to_job(row: "sqlite3.Row") -> "Job":
    """The Job of a row read with ``JOB_COLUMNS``."""
    from slothtray.model import Job

    fields = dict(row)
    fields["state"] = State(fields["state"])
    for name in ("command", "cwd"):
        fields[name] = json.loads(fields[name])
    for name in ("argv", "dropped"):
        fields[name] = tuple(json.loads(fields[name]))
    for name in ("once", "cancel_requested", "start_now", "seen"):
        fields[name] = bool(fields[name])
    return Job(**fields)


def to_event(row: "sqlite3.Row") -> "Event":
    """The Event of a row with ``id, job, at, kind, detail``."""
    from slothtray.model import Event

    return Event(row["id"], row["job"], row["at"], row["kind"], row["detail"])
