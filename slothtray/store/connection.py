"""One SQLite connection with the settings that keep an acknowledged job through a power cut (DESIGN 5), and its errors as ours."""

import os
import sqlite3

from slothtray import private
from slothtray.errors import DamagedDatabase, DatabaseBusy, FolderReplaced, StorageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

COMMIT_TRIES = 3
"""A busy COMMIT keeps its transaction and, with it, the lock that keeps new readers out: trying it again is how it gets through."""


class Database:
    """A connection to the queue's file. ``patience`` is how many seconds to wait for another program's lock.

    Raises ``StorageError`` (or its ``DatabaseBusy``) wherever SQLite fails.
    """

    def __init__(self, path: str, patience: float = 10.0) -> None:
        self.path = path
        create_private(path)
        try:
            self._connection = sqlite3.connect(path, timeout=patience, isolation_level=None)
        except sqlite3.Error as error:
            raise explain(error, path) from error
        try:
            self._connection.row_factory = sqlite3.Row
            # Not WAL: its reset bug corrupts (3.7.0 to 3.51.2) and WAL/NORMAL loses acknowledged adds at a power cut;
            # EXTRA also syncs the folder after the journal's end, without which a commit can be undone by one.
            self._connection.execute("PRAGMA journal_mode=TRUNCATE").fetchall()
            self._connection.execute("PRAGMA synchronous=EXTRA")
            # What was edited away or pruned is overwritten: a password in a command, once noticed, can be got rid of. Debian's
            # SQLite does so by itself.
            self._connection.execute("PRAGMA secure_delete=ON")
        except sqlite3.Error as error:
            self.close()  # Python 3.13 warns of what is left to the garbage
            raise explain(error, path) from error
        self._identity = _identity(path)

    def check_in_place(self) -> None:
        """Raise ``StorageError`` when the file is no longer at its path, ``FolderReplaced`` when another one is.

        SQLite would go on with the file that it has open, and put its journal beside the other one, as if it were of that.
        """
        if (now := _identity(self.path)) == self._identity:
            return
        folder = os.path.dirname(self.path)
        if now is None:
            raise StorageError(f"the queue folder {folder} is gone, or its database", "nothing starts until it is back")
        raise FolderReplaced(f"the queue in {folder} was replaced while slothtray ran on it", "start slothtray again")

    def write(self) -> "Transaction":
        """A ``with`` block that is one durable transaction: all of it, or none."""
        return Transaction(self._connection, self.path)

    def execute(self, sql: str, values: "Sequence[object]" = ()) -> int:
        """Run one changing statement inside ``write()``; the number of rows it changed."""
        try:
            return self._connection.execute(sql, values).rowcount
        except sqlite3.Error as error:
            raise explain(error, self.path) from error

    def insert(self, sql: str, values: "Sequence[object]" = ()) -> int:
        """Run one INSERT inside ``write()``; the new row's id."""
        try:
            rowid = self._connection.execute(sql, values).lastrowid
        except sqlite3.Error as error:
            raise explain(error, self.path) from error
        return rowid or 0

    def rows(self, sql: str, values: "Sequence[object]" = ()) -> list[sqlite3.Row]:
        """All rows of a query, fetched before anything is done with them: an open cursor would hold the lock."""
        try:
            return self._connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise explain(error, self.path) from error

    def row(self, sql: str, values: "Sequence[object]" = ()) -> sqlite3.Row | None:
        """The first row of a query, or None."""
        found = self.rows(sql, values)
        return found[0] if found else None

    def check_not_restored(self) -> None:
        """Raise ``StorageError`` when another file has this one's name now: a restore has put it there, and nobody writes here."""
        if _identity(self.path) != self._identity:
            words = f"the database {self.path} was replaced by a backup meanwhile"
            raise StorageError(words, "its unfinished jobs are held: see `slothtray list`")

    def set_patience(self, seconds: float) -> None:
        """Wait so long for another program's lock from now on."""
        self.execute(f"PRAGMA busy_timeout = {round(seconds * 1000)}")

    def count_steps(self, counter: list[int]) -> None:
        """Add one to ``counter[0]`` for each step of SQLite's machine: how tests count the work without a clock."""

        def step() -> int:
            counter[0] += 1
            return 0

        self._connection.set_progress_handler(step, 1)

    def close(self) -> None:
        """Give the file back."""
        self._connection.close()


class Transaction:
    """BEGIN IMMEDIATE … COMMIT. The first error is the one that is seen, never that of the ROLLBACK after it."""

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        self._connection, self._path = connection, path

    def __enter__(self) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            raise explain(error, self._path) from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: "TracebackType | None"
    ) -> None:
        if kind is not None:
            self._roll_back()
            return
        try:
            self._commit()
        except sqlite3.Error as problem:
            self._roll_back()
            raise explain(problem, self._path) from problem

    def _commit(self) -> None:
        for last in (False,) * (COMMIT_TRIES - 1) + (True,):
            try:
                self._connection.execute("COMMIT")
            except sqlite3.OperationalError as error:
                if last or not _is_busy(error) or not self._connection.in_transaction:
                    raise
            else:
                return

    def _roll_back(self) -> None:
        # After SQLITE_FULL, IOERR or NOMEM SQLite has rolled back by itself: a ROLLBACK then is an error of its own.
        if self._connection.in_transaction:
            try:
                self._connection.execute("ROLLBACK")
            except sqlite3.Error:
                return


def create_private(path: str) -> None:
    """Make the folder (0700) and an empty file (0600) whatever the umask is, unless they exist.

    The file is never opened otherwise: closing any descriptor of it would drop SQLite's own locks in this process. SQLite itself
    would follow a link there, and wait for a pipe.
    """
    try:
        private.make_folder(os.path.dirname(path))
        private.is_file(path + "-journal")
        if private.is_file(path):
            return
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return
    except private.Odd as error:
        raise StorageError(f"{error.filename} can't be used: {error.strerror}", "choose another folder with --home DIR") from error
    except OSError as error:
        raise unusable(os.path.dirname(path), error) from error
    try:
        os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


def _identity(path: str) -> tuple[int, int] | None:
    """Which file is at this path; None when there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def unusable(folder: str, error: OSError) -> StorageError:
    """The error for a queue folder that can't be made or written."""
    reason = error.strerror or str(error)
    return StorageError(f"the queue folder {folder} can't be used: {reason}", "choose another with --home DIR")


def _is_busy(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def explain(error: sqlite3.Error, path: str) -> StorageError:
    """What an SQLite error means to the person whose queue it is."""
    if _is_busy(error):
        return DatabaseBusy(f"the database {path} is locked by another program", "nothing was stored; try again")
    if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_READONLY_DBMOVED:
        # SQLite looks before a transaction's first write: what we would have stored went into the file that was set aside.
        return DatabaseBusy(f"the database {path} was just replaced by a backup", "nothing was stored; try again")
    primary = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if primary == sqlite3.SQLITE_FULL:
        return StorageError(f"no space left for the database {path}", "nothing was stored; free some space and try again")
    if primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        words = f"the database {path} is damaged ({error})"
        return DamagedDatabase(words, "nothing was changed; `slothtray restore` lists the backups")
    if primary in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return StorageError(f"the database {path} can't be used: {error}", "check the folder's owner and permissions")
    return StorageError(f"the database {path} failed: {error}")
