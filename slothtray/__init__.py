"""slothtray: a job queue for a laptop. The library's face; everything is imported on first use, so that `add` stays quick."""

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slothtray.clock import Clock, ManualClock
    from slothtray.model import Event, Job, State
    from slothtray.store import Queue

__all__ = ["Clock", "Event", "Job", "ManualClock", "Queue", "State", "__version__"]

_HOMES = {
    "Clock": "slothtray.clock",
    "ManualClock": "slothtray.clock",
    "Event": "slothtray.model",
    "Job": "slothtray.model",
    "State": "slothtray.model",
    "Queue": "slothtray.store",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'slothtray' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
