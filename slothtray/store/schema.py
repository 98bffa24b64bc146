"""The numbered migrations and who may run them (DESIGN 5)."""

import os
import sqlite3

from slothtray.errors import StorageError
from slothtray.store.connection import Database

LATEST = 1
"""The schema this version writes. A file with a higher ``user_version`` is refused."""


def prepare(database: Database, now: float) -> None:
    """Bring a new file to ``LATEST``; refuse one that a newer slothtray wrote. Raises ``StorageError``."""
    version = version_of(database)
    if version > LATEST:
        raise StorageError(
            f"{database.path} was written by a newer slothtray (schema {version}; this one knows {LATEST})",
            "install that version again, or choose another folder with --home DIR",
        )
    if version == 0:
        _create(database, now)


def version_of(database: Database) -> int:
    """The file's ``user_version``; 0 is a file without a schema."""
    row = database.row("PRAGMA user_version")
    return int(row[0]) if row else 0


def _create(database: Database, now: float) -> None:
    with database.write():
        # Read again under the lock: another program may have made the schema since.
        if version_of(database) == 0:
            for number in range(1, LATEST + 1):
                _apply(database, number, now)


def _apply(database: Database, number: int, now: float) -> None:
    """One migration and its own record, in the caller's transaction. Not by ``executescript``: that would commit it."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "migrations", f"{number:04d}.sql")
    with open(path, encoding="utf-8") as file:
        for statement in statements(file.read()):
            database.execute(statement)
    database.execute("INSERT INTO migrations (version, at) VALUES (?, ?)", (number, now))
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
