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
from slothtray.durations import parse_duration, parse_size

STATES = ("pending", "running", "done", "failed", "cancelled", "held")

LABEL = Option(("--label",), "a name to find it by", "TEXT")
CWD = Option(("--cwd",), "run it in this folder (the present one)", "DIR")
DELAY = Option(("--delay",), "not before this long from now", "DUR", parse_duration)
AT = Option(("--at",), "not before HH:MM, or 2027-01-31T06:30", "TIME")
AFTER = Option(("--after",), "only when that job is done; cancelled when it isn't", "ID", whole_number)
EXPIRES = Option(("--expires",), "cancel it unless it has started within this", "DUR", parse_duration)

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
                Option(("--once",), "never run it again by itself, not even after a crash"),
                Option(("--hold",), "keep it until `slothtray release`"),
                DELAY,
                AT,
                AFTER,
                EXPIRES,
                CWD,
                Option(("--env",), "set a variable, or keep one that looks secret", "NAME[=VALUE]", repeat=True),
                LABEL,
                Option(("--unique",), "print the id of a pending or running job of that label instead, if there is one"),
                Option(("--clipboard",), "take the command from the clipboard"),
                Option(("-q", "--quiet"), "print nothing but the id"),
                JSON,
            ),
            "CMD | -- ARG… | -",
            "command",
            "One word is a command line for your shell; several words, or all after --, are run as they are, without a shell.\n"
            "- reads command lines from standard input, one a line, and queues all of them or none.\n"
            "Options come first: from the first word that is no option on, everything is the command.",
            (
                'slothtray add "make -j4"',
                'slothtray add -p 5 -t 2h --attempts 3 "rsync -a ~/photos /mnt/backup"',
                "slothtray add -- cp 'a b' c",
                'slothtray add --label nightly --unique --at 02:30 "./backup.sh"',
            ),
        ),
        Command(
            "list",
            "Show the queue: what runs, what waits and why, what came of the last ones.",
            "show",
            (
                Option(("--state",), "only these: " + ", ".join(STATES), "S"),
                Option(("--label",), "only those with this label", "L"),
                Option(("-n", "--limit"), "at most so many of each kind", "N", whole_number),
                JSON,
            ),
            examples=("slothtray list", "slothtray list --state failed", "slothtray list --json"),
        ),
        Command("show", "Show all about one job.", "show", (JSON,), "ID", "1"),
        Command("why", "Tell why nothing starts, or why this job doesn't.", "why", (JSON,), "[ID]", "?"),
        Command(
            "log",
            "Print what a job wrote.",
            "log",
            (
                Option(("-f", "--follow"), "go on printing until the job is over; wait for it to start"),
                Option(("-n", "--lines"), "only the last N lines", "N", whole_number),
                Option(("--path",), "print the file's name"),
                Option(("--open",), "open the file with the desktop's program for it"),
            ),
            "ID",
            "1",
            examples=("slothtray log 12", "slothtray log -f 12", "slothtray log 12 | grep error"),
        ),
        Command("cancel", "Cancel jobs; a running one is ended with all it started.", "change", (), "ID…", "+"),
        Command("retry", "Queue finished jobs again, under their ids.", "change", (), "ID…", "+"),
        Command("start", "Start a pending job next, whatever load, pause and cooldown say.", "change", (), "ID", "1"),
        Command("hold", "Keep pending jobs from starting.", "change", (), "ID…", "+"),
        Command("release", "Queue held jobs again.", "change", (), "ID…", "+"),
        Command(
            "edit",
            "Change a job that has not started; without options in $EDITOR.",
            "edit",
            (
                PRIORITY,
                MAX_RUNTIME,
                ATTEMPTS,
                DELAY,
                AT,
                EXPIRES,
                CWD,
                LABEL,
                Option(("--command",), "another command line, for the same shell", "CMD"),
            ),
            "ID",
            "1",
            examples=("slothtray edit 12", "slothtray edit 12 -p 10 --delay 1h"),
        ),
        Command(
            "pause",
            "Start nothing new, for a while or until `slothtray resume`. What runs goes on.",
            "pause",
            (Option(("--toggle",), "pause, or go on when paused"),),
            "[DUR]",
            "?",
            examples=("slothtray pause", "slothtray pause 2h"),
        ),
        Command("resume", "Go on after a pause.", "pause"),
        Command(
            "wait",
            "Wait for jobs to end. 0 if all are done, 1 if one is not.",
            "wait",
            (Option(("--timeout",), "wait at most so long, then end with 124", "DUR", parse_duration),),
            "[ID…]",
            "*",
            "Without an ID: for all that are unfinished now. A job that is held, or a queue that is paused, is told at once.",
            ("slothtray wait 12 && echo done", "slothtray wait --timeout 1h"),
        ),
        Command(
            "run",
            "Run the queue in this terminal, without a tray.",
            "run",
            (
                Option(("--ceiling",), "start nothing while the load is this high; off: never mind", "L", load_ceiling),
                Option(("--interval",), "look at the load this often (15s)", "DUR", parse_duration),
                Option(("--cooldown",), "wait this long between two jobs (5s)", "DUR", parse_duration),
                Option(("--until-empty",), "end when all jobs are over: 0, or 1 if one failed"),
            ),
            examples=("slothtray run", "slothtray run --until-empty --ceiling off"),
        ),
        Command(
            "prune",
            "Forget done and cancelled jobs, and their logs.",
            "prune",
            (
                Option(("--older",), "those that ended longer ago than this (30d)", "DUR", parse_duration),
                Option(("--size",), "the oldest ones, until all logs fit into this", "N", parse_size),
                Option(("--failed",), "failed ones too"),
                Option(("--dry-run",), "only say what would go"),
            ),
            examples=("slothtray prune", "slothtray prune --older 1d --failed", "slothtray prune --size 1G --dry-run"),
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
