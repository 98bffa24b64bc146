"""The database as `slothtray doctor` looks at it: by a connection that can't write, and makes nothing."""

import os
import sqlite3
import time
from typing import NamedTuple
from urllib.parse import quote

from slothtray.store.connection import explain

PATIENCE = 1.0
"""Seconds to wait for another program's lock."""


class Health(NamedTuple):
    """``cut_short``: a write was, and only a connection that may write can take it back; nothing else is known then.

    ``findings``: what quick_check says, ("ok",) for nothing, () when it took too long; ``queue``: the queue's one row.
    """

    exists: bool
    mode: int = 0
    size: int = 0
    version: int = 0
    findings: tuple[str, ...] = ()
    pending: int = 0
    queue: dict[str, object] | None = None
    cut_short: bool = False


def examine(path: str, seconds: float) -> Health:
    """Look at it, for about so many seconds at most. Raises ``StorageError``."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return Health(exists=False)
    health = Health(exists=True, mode=status.st_mode & 0o7777, size=status.st_size)
    if status.st_size == 0:
        return health
    try:
        connection = sqlite3.connect(f"file:{quote(os.fsencode(path))}?mode=ro", uri=True, timeout=PATIENCE)
        try:
            return _read(connection, health, seconds)
        finally:
            connection.close()
    except sqlite3.Error as error:
        primary = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if primary == sqlite3.SQLITE_READONLY:
            return health._replace(cut_short=True)
        if primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return health._replace(findings=(str(error),))
        raise explain(error, path) from error


def _read(connection: sqlite3.Connection, health: Health, seconds: float) -> Health:
    connection.row_factory = sqlite3.Row
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    health = health._replace(version=version, findings=_findings(connection, seconds))
    if version == 0 or health.findings not in (("ok",), ()):
        return health
    row = connection.execute("SELECT * FROM queue WHERE one = 1").fetchone()
    (pending,) = connection.execute("SELECT jobs FROM tally WHERE what = 'pending'").fetchone() or (0,)
    return health._replace(pending=pending, queue=dict(row) if row is not None else None)


def _findings(connection: sqlite3.Connection, seconds: float) -> tuple[str, ...]:
    deadline = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
    try:
        return tuple(str(row[0]) for row in connection.execute("PRAGMA quick_check(3)").fetchall())
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
        return ()
    finally:
        connection.set_progress_handler(None, 0)
