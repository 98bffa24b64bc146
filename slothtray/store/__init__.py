"""The SQLite file: schema, claim, changes, reading. Knows nothing of processes, trays or commands."""

from slothtray.store.queue import Queue

__all__ = ["Queue"]
