"""`slothtray prune`: forget what is over, and its log."""

from slothtray import actions
from slothtray.cli import settings
from slothtray.cli.parser import Parsed
from slothtray.errors import ConfigError, Usage
from slothtray.paths import Paths
from slothtray.text import id_ranges, size_words


def run(parsed: Parsed, paths: Paths) -> int:
    """Remove the jobs, or say which would go."""
    older, size = parsed.number("older"), parsed.whole("size")
    if older is None and size is None:
        reading = settings.reading(paths)
        if reading.problem:
            raise ConfigError(reading.problem)  # nothing is removed by a default that may not be what was meant
        older = reading.config.prune_after
        if older is None:
            raise Usage("the config's prune_after is never", "say what may go with --older or --size")
    pruned = actions.prune(paths, older, size, failed=parsed.flag("failed"), dry_run=parsed.flag("dry_run"))
    jobs = "1 job" if len(pruned.ids) == 1 else f"{len(pruned.ids)} jobs"
    verb = "removed"
    if parsed.flag("dry_run"):
        verb = "would go" + (f" ({id_ranges(pruned.ids)})" if pruned.ids else "")
    print(f"{jobs} {verb}, {size_words(pruned.size)} of logs")
    return 0
