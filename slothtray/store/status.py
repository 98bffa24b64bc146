"""The queue's one row: the person's pause, and what the runner last said of its state, reason and load."""

from typing import NamedTuple

from slothtray.model import Load
from slothtray.store.changes import note
from slothtray.store.connection import Database


class Pause(NamedTuple):
    """``since`` and ``until`` are wall time; ``until`` None means until resumed."""

    since: float
    until: float | None


class Status(NamedTuple):
    """What the runner said at ``said_at`` (wall time); only worth something while an app runs."""

    state: str
    gate: str | None
    reason: str | None
    since: float | None
    until: float | None
    load: Load | None
    said_at: float | None
    remark: str | None = None
    """What the app has to say of itself (its icon is gone …)."""


def pause_of(database: Database, now: float) -> Pause | None:
    """The person's pause, or None when there is none or its time is over."""
    row = database.row("SELECT paused, paused_at, paused_until FROM queue WHERE one = 1")
    if row is None or not row["paused"] or (row["paused_until"] is not None and row["paused_until"] <= now):
        return None
    return Pause(row["paused_at"], row["paused_until"])


def set_pause(database: Database, now: float, until: float | None) -> None:
    """Pause the queue (wall time ``until``, None: until resumed), in the caller's transaction."""
    database.execute("UPDATE queue SET paused = 1, paused_at = ?, paused_until = ? WHERE one = 1", (now, until))
    note(database, None, now, "paused")


def clear_pause(database: Database, now: float) -> bool:
    """End the pause, in the caller's transaction; False when there was none."""
    changed = database.execute(
        "UPDATE queue SET paused = 0, paused_at = NULL, paused_until = NULL WHERE one = 1 AND paused = 1"
    )
    if changed:
        note(database, None, now, "resumed")
    return changed == 1


def say(database: Database, status: Status, own: tuple[float, float, str] | None) -> None:
    """The runner's word on itself, in the caller's transaction. ``own``: its own load's average, at what time awake, which boot."""
    load = status.load or Load(None, None, None, None)  # type: ignore[arg-type]
    awake = own or (None, None, None)
    database.execute(
        "UPDATE queue SET state=?, gate=?, reason=?, since=?, until=?, load_one=?, load_own=?, load_foreign=?, load_ceiling=?,"
        " own_awake=?, own_boot=?, said_at=?, remark=? WHERE one = 1",
        (status.state, status.gate, status.reason, status.since, status.until, *load, *awake[1:], status.said_at, status.remark),
    )


def status_of(database: Database) -> Status:
    """What the runner last said."""
    row = database.row("SELECT * FROM queue WHERE one = 1")
    assert row is not None
    load = None
    if row["load_one"] is not None:
        load = Load(row["load_one"], row["load_own"], row["load_foreign"], row["load_ceiling"])
    own = {name: row[name] for name in Status._fields if name != "load"}
    return Status(load=load, **own)


def own_load_of(database: Database) -> tuple[float, float, str] | None:
    """Our own load as the last runner left it: (average, time awake, boot id), or None."""
    row = database.row("SELECT load_own, own_awake, own_boot FROM queue WHERE one = 1")
    if row is None or row["own_awake"] is None or row["load_own"] is None:
        return None
    return row["load_own"], row["own_awake"], row["own_boot"]
