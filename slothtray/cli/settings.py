"""The config of a queue for the commands: a bad file is said in one line and stops none of them."""

import logging

from slothtray.config import Config, Reading, Watched, defaults, load
from slothtray.config.editing import ensure
from slothtray.errors import StorageError
from slothtray.paths import Paths
from slothtray.system.load import default_ceiling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

log = logging.getLogger(__name__)


def base() -> Config:
    """What is in force on this machine when no file says anything."""
    return defaults(default_ceiling())


def watched(paths: Paths, overrides: "Mapping[str, object] | None" = None) -> Watched:
    """The config for a runner. The file is written first if there is none, for people to find; that it can't be stops nothing."""
    try:
        ensure(paths.config)
    except StorageError as error:
        log.info("%s", error)
    return Watched(paths.config, base(), overrides)


def reading(paths: Paths) -> Reading:
    """What the file says now."""
    return load(paths.config, base())
