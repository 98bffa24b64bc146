"""From the words typed to one command and its exit code. Every error ends here as one line; no traceback, no broken pipe."""

import os
import sys

import slothtray
from slothtray import paths
from slothtray.cli.parser import Command, parse
from slothtray.cli.table import ALIASES, APP, COMMANDS, OTHER_WORDS
from slothtray.errors import SlothtrayError, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

INTERRUPTED = 130


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run one command line; its exit code (DESIGN 12)."""
    args = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _dispatch(args)
        sys.stdout.flush()
    except SlothtrayError as error:
        from slothtray.cli.complain import report

        code = report(error, as_json="--json" in (args[: args.index("--")] if "--" in args else args))
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has enough of it. Python would complain once more when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    return code


def _dispatch(args: list[str]) -> int:
    home: str | None = None
    while args and args[0].startswith("-"):
        word = args.pop(0)
        if word in ("-h", "--help"):
            print(overview())
            return 0
        if word == "--version":
            print(f"slothtray {slothtray.__version__}")
            return 0
        if word == "--home" and args:
            home = args.pop(0)
        elif word.startswith("--home="):
            home = word.partition("=")[2]
        else:
            raise Usage(f"there is no option {word}", "see `slothtray --help`")
    place = paths.find(home)
    command = find(args[0]) if args else APP
    parsed = parse(command, args[1:])
    import importlib

    code: int = importlib.import_module(f"slothtray.cli.commands.{command.module}").run(parsed, place)
    return code


def find(word: str) -> Command:
    """The command that a word names. Raises ``Usage`` with the nearest one."""
    command = COMMANDS.get(ALIASES.get(word, word))
    if command is not None:
        return command
    meant = OTHER_WORDS.get(word)
    if meant is None or meant.split()[0] not in COMMANDS:
        import difflib

        near = difflib.get_close_matches(word, [*COMMANDS, *ALIASES], n=1, cutoff=0.5)
        meant = near[0] if near else None
    hint = f"did you mean `slothtray {meant}`?" if meant else "see `slothtray --help`"
    raise Usage(f"there is no command {word!r}", hint)


def overview() -> str:
    """What `slothtray --help` prints."""
    lines = [
        "usage: slothtray [--home DIR] [COMMAND]",
        "",
        "A job queue that outlives closed lids, crashes and reboots. Without a command: the tray application.",
        "",
        *(f"  {command.name:<9} {command.summary.split('. ')[0].rstrip('.')}" for command in COMMANDS.values()),
        "",
        "  --home DIR   use the queue in this folder (or set SLOTHTRAY_HOME)",
        "  --version    print the version",
        "",
        "examples:",
        '  slothtray add "make -j4"        slothtray list        slothtray log 1',
        "",
        "`slothtray COMMAND --help` tells more.",
    ]
    return "\n".join(lines)
