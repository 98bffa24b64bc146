"""`slothtray prune`: forget what is over, and its log."""

from slothtray import actions
from slothtray.cli.parser import Parsed
from slothtray.paths import Paths
from slothtray.text import size_words

DEFAULT_OLDER = 30 * 86400.0


def run(parsed: Parsed, paths: Paths) -> int:
    """Remove the jobs, or say which would go."""
    older, size = parsed.number("older"), parsed.whole("size")
    if older is None and size is None:
        older = DEFAULT_OLDER
    pruned = actions.prune(paths, older, size, failed=parsed.flag("failed"), dry_run=parsed.flag("dry_run"))
    verb = "would go" if parsed.flag("dry_run") else "removed"
    jobs = "1 job" if len(pruned.ids) == 1 else f"{len(pruned.ids)} jobs"
    print(f"{jobs} {verb}, {size_words(pruned.size)} of logs")
    return 0
