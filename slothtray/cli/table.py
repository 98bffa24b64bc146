"""All commands of slothtray. Pure data; `slothtray --help` shows them in this order."""

from slothtray.cli.parser import (
    ATTEMPTS,
    JSON,
    MAX_RUNTIME,
    PRIORITY,
    Command,
    Option,
    load_ceiling,
    whole_number,
)
from slothtray.durations import parse_duration

STATES = ("pending", "running", "done", "failed", "cancelled", "held")

COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (
        Command(
            "add",
            "Queue a command. Prints its id.",
            "add",
            (
                PRIORITY,
                MAX_RUNTIME,
                ATTEMPTS,
                Option(("--cwd",), "run it in this folder (the present one)", "DIR"),
                Option(("-q", "--quiet"), "print nothing but the id"),
                JSON,
            ),
            "CMD | -- ARG…",
            "command",
            "One word is a command line for your shell; several words, or all after --, are run as they are, without a shell.\n"
            "Options come first: from the first word that is no option on, everything is the command.",
            (
                'slothtray add "make -j4"',
                'slothtray add -p 5 -t 2h "rsync -a ~/photos /mnt/backup"',
                "slothtray add -- cp 'a b' c",
            ),
        ),
        Command(
            "list",
            "Show the queue: what runs, what waits and why, what came of the last ones.",
            "show",
            (
                Option(("--state",), "only these: " + ", ".join(STATES), "S"),
                Option(("-n", "--limit"), "at most so many", "N", whole_number),
                JSON,
            ),
        ),
        Command("show", "Show all about one job.", "show", (JSON,), "ID", "1"),
        Command(
            "log",
            "Print what a job wrote.",
            "log",
            (Option(("-n", "--lines"), "only the last N lines", "N", whole_number), Option(("--path",), "print the file's name")),
            "ID",
            "1",
        ),
        Command("cancel", "Cancel jobs; a running one is ended with all it started.", "change", (), "ID…", "+"),
        Command("retry", "Queue finished jobs again, under their ids.", "change", (), "ID…", "+"),
        Command("release", "Queue held jobs again.", "change", (), "ID…", "+"),
        Command("pause", "Start nothing new until `slothtray resume`. What runs goes on.", "pause"),
        Command("resume", "Go on after a pause.", "pause"),
        Command(
            "wait",
            "Wait for jobs (all that are unfinished) to end. Ends with 0 if all are done, 1 if one is not, 124 on time-out.",
            "wait",
            (Option(("--timeout",), "wait at most so long", "DUR", parse_duration),),
            "[ID…]",
            "*",
        ),
        Command(
            "run",
            "Run the queue in this terminal, without a tray.",
            "run",
            (
                Option(("--ceiling",), "start nothing while the load is this high; off: never mind", "L", load_ceiling),
                Option(("--interval",), "look at the load this often (15s)", "DUR", parse_duration),
                Option(("--cooldown",), "wait this long between two jobs (5s)", "DUR", parse_duration),
                Option(("--until-empty",), "end when all jobs are over"),
            ),
            examples=("slothtray run", "slothtray run --until-empty --ceiling off"),
        ),
    )
}
APP = Command("", "The tray application.", "app")
ALIASES = {"status": "list", "ls": "list"}
OTHER_WORDS = {
    # What people type who come from pueue, task-spooler, nq and at.
    "follow": "log -f",
    "tail": "log -n",
    "cat": "log",
    "kill": "cancel",
    "stop": "pause",
    "rm": "cancel",
    "remove": "cancel",
    "delete": "cancel",
    "restart": "retry",
    "stash": "hold",
    "enqueue": "release",
    "clean": "prune",
    "clear": "prune",
    "submit": "add",
    "queue": "add",
    "push": "add",
    "atq": "list",
    "info": "show",
    "daemon": "run",
    "start-server": "run",
}
