"""The numbered migrations, who may run them, and which files are refused (DESIGN 5)."""

import os
import sqlite3

import slothtray
from slothtray import private
from slothtray.errors import DamagedDatabase, NewerDatabase, StorageError
from slothtray.store.connection import Database

LATEST = 1
"""The schema this version writes. A file with a higher ``user_version`` is refused."""
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "migrations")
BEFORE = 1
"""So many schemas back the commands still work with a file; only an app brings it to ``LATEST``."""


def prepare(database: Database, now: float) -> None:
    """Make a new file's schema; refuse a file that this program can't work with. What every command does.

    Raises ``NewerDatabase``, ``DamagedDatabase`` for an empty file where a queue was, ``StorageError``.
    """
    version = checked_version(database, database.path)
    if version == 0:
        refuse_lost(database)
        create(database, now)
    elif version < LATEST - BEFORE:
        raise StorageError(
            f"{database.path} was written by an older slothtray (schema {version}; this one needs {LATEST - BEFORE})",
            "start slothtray: it makes a backup and brings the queue up to date",
        )


def checked_version(database: Database, name: str) -> int:
    """The file's schema, 0 for one without; ``name`` is what errors call it. Raises ``NewerDatabase``."""
    version = version_of(database)
    if version > LATEST:
        program = _writer(database, version)
        raise NewerDatabase(
            f"{name} was written by {program or 'a newer slothtray'}"
            f" (schema {version}; this is slothtray {slothtray.__version__}, which knows {LATEST})",
            f"install {program or 'that version'} or newer, or go back to a backup: `slothtray restore`",
        )
    return version


def version_of(database: Database) -> int:
    """The file's ``user_version``; 0 is a file without a schema."""
    row = database.row("PRAGMA user_version")
    return int(row[0]) if row else 0


def create(database: Database, now: float) -> None:
    """Give a new file the whole schema, unless somebody else has meanwhile."""
    with database.write():
        # Read again under the lock: another program may have made the schema since.
        if version_of(database) == 0:
            for number in range(1, LATEST + 1):
                _apply(database, number, now)


def migrate(database: Database, now: float) -> None:
    """Bring an older file to ``LATEST``, one transaction for each step. Only an app may, with the folder's lock and a backup."""
    for number in range(version_of(database) + 1, LATEST + 1):
        with database.write():
            _apply(database, number, now)


def _writer(database: Database, version: int) -> str:
    """The program that made a schema, such as "slothtray 0.3.0"; "" where a schema that we don't know doesn't tell."""
    try:
        row = database.row("SELECT program FROM migrations WHERE version = ?", (version,))
    except StorageError:
        return ""
    return f"slothtray {row['program']}" if row and row["program"] else ""


def refuse_lost(database: Database) -> None:
    """A file without a schema is a new queue, unless something says that there was one: that is never replaced in silence.

    What was seen of it may be the work of a command that has made it since, and of an app that runs its first job already.
    """
    problem = _not_new(database)
    if problem is not None and version_of(database) == 0:
        raise problem


def _not_new(database: Database) -> StorageError | None:
    if database.row("SELECT 1 FROM sqlite_master LIMIT 1"):
        return StorageError(f"{database.path} is no queue of slothtray", "move it away, or choose another folder with --home DIR")
    sign = sign_of_a_queue(os.path.dirname(database.path))
    if not sign:
        return None
    return DamagedDatabase(
        f"the database {database.path} is empty or gone, though there is {sign}",
        "start slothtray to get the newest backup back, or see `slothtray restore`",
    )


def sign_of_a_queue(folder: str) -> str:
    """A file in the queue folder that only a queue which has been used leaves there; "" when there is none."""
    for name in private.names_in(os.path.join(folder, "backups")):
        if name.startswith("queue-") and name.endswith(".db"):
            return f"backups/{name}"
    for name in private.names_in(os.path.join(folder, "runs")):
        job, dash, token = name.partition("-")
        if dash and job.isdecimal() and len(token) == 8:
            return f"runs/{name}"
    return ""


def _apply(database: Database, number: int, now: float) -> None:
    """One migration and its own record, in the caller's transaction. Not by ``executescript``: that would commit it."""
    with open(os.path.join(FOLDER, f"{number:04d}.sql"), encoding="utf-8") as file:
        for statement in statements(file.read()):
            database.execute(statement)
    record = "INSERT INTO migrations (version, at, program) VALUES (?, ?, ?)"
    database.execute(record, (number, now, slothtray.__version__))
    database.execute(f"PRAGMA user_version = {number}")


def statements(script: str) -> list[str]:
    """The single statements of an SQL script."""
    found: list[str] = []
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            found.append(pending)
            pending = ""
    return found
