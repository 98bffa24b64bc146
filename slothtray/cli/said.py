"""What the app says of itself: in the database, or, where it can't write there, in the file that it has locked."""

from slothtray import bell
from slothtray.paths import Paths
from slothtray.store import status
from slothtray.store.connection import Database
from slothtray.system import folder


def said_by_app(database: Database, paths: Paths) -> status.Status | None:
    """Its status, with its trouble as the reason why nothing goes on; None when no app runs."""
    if not bell.answered(paths):
        return None
    said = status.status_of(database)
    trouble = folder.trouble_of(paths)
    return said._replace(reason=trouble) if trouble else said
