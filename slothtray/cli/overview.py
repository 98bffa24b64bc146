"""What `slothtray --help` prints: every command on one screen."""

from slothtray.cli.table import COMMANDS

LEFT = 40
NAME = 11


def overview() -> str:
    """All commands in two columns, in the order of the table, on 24 lines of 80 columns."""
    cells = [f"  {command.name:<{NAME}}{command.brief}" for command in COMMANDS.values()]
    half = (len(cells) + 1) // 2
    pairs = zip(cells[:half], [*cells[half:], ""], strict=False)
    lines = [
        "usage: slothtray [--home DIR] [--notify] [COMMAND]",
        "",
        "A job queue that outlives closed lids, crashes and reboots. It runs one job at a",
        "time, when the machine can afford it. Without a command: the tray application.",
        "",
        *((left.ljust(LEFT) + right).rstrip() for left, right in pairs),
        "",
        "  --home DIR   use the queue in this folder (or set SLOTHTRAY_HOME)",
        "  --notify     tell in a notification, too, what came of it: for key bindings",
        "  --version    print the version",
        "",
        'examples:  slothtray add "make -j4"      slothtray list      slothtray log -f 1',
        "`slothtray COMMAND --help` tells more.",
    ]
    return "\n".join(lines)
