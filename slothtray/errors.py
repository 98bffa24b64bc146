"""Every error a person can meet: what happened, why, what to do, and the exit code (DESIGN: exit codes 0 to 4, 124, 130)."""


class SlothtrayError(Exception):
    """Base of all errors that are shown to a person as one line.

    ``title`` names the thing and the reason; ``message`` says what to do next and may be empty.
    """

    code = "error"
    exit_code = 1

    def __init__(self, title: str, message: str = "") -> None:
        super().__init__(title)
        self.title = title
        self.message = message

    def __str__(self) -> str:
        return f"{self.title}: {self.message}" if self.message else self.title


class Refused(SlothtrayError):
    """What was asked for is understood but not allowed in the present state."""

    code = "refused"


class UnknownJob(SlothtrayError):
    """No job has that id."""

    code = "unknown-job"


class Usage(SlothtrayError):
    """The words of a command don't fit."""

    code = "usage"
    exit_code = 2


class ConfigError(SlothtrayError):
    """`config.toml` says something that can't be meant so. Stops only what would change it: all else goes on without."""

    code = "config"
    exit_code = 2


class FolderBusy(SlothtrayError):
    """Another app holds the queue folder."""

    code = "folder-busy"
    exit_code = 3


class StorageError(SlothtrayError):
    """The database or the queue folder can't be used."""

    code = "storage"
    exit_code = 4


class DamagedDatabase(StorageError):
    """The database is no whole SQLite file of ours: its pages don't fit together, or it is empty where a queue was."""

    code = "damaged"


class NewerDatabase(StorageError):
    """A newer slothtray wrote the database: reading it would be guessing, and writing it would harm it."""

    code = "newer"


class DatabaseBusy(StorageError):
    """Another program holds the database's write lock for longer than we wait: trying again later is right."""

    code = "database-busy"


class FolderReplaced(StorageError):
    """Another folder is where the queue folder was that this app holds: its lock says nothing about that one."""

    code = "folder-replaced"


class WaitTimeout(SlothtrayError):
    """``wait --timeout`` ran out."""

    code = "timeout"
    exit_code = 124


PROGRAM_CHANGED = "a part of slothtray is gone: if it was upgraded, quit and start it again; if not, install it again"
"""What an ImportError means to a person: the app began with a program that is not there any more, or only half of it."""


class IllegalTransition(AssertionError):
    """A state change that the table in ``model.py`` does not allow: a defect of ours, never the person's."""
