"""From the words typed to one command and its exit code. Every error ends here as one line; no traceback, no broken pipe."""

import sys

import slothtray
from slothtray import paths
from slothtray.cli import streams
from slothtray.cli.parser import Command, parse, split
from slothtray.cli.table import ALIASES, APP, COMMANDS
from slothtray.errors import SlothtrayError, StorageError, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from slothtray.cli.parser import Parsed

INTERRUPTED = 130


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run one command line; its exit code (DESIGN 12)."""
    args = list(sys.argv[1:] if argv is None else argv)
    streams.prepare()
    code = _carry_out(args)
    if streams.outcome is not None and code != INTERRUPTED:
        _announce(code)
    return code


def _carry_out(args: list[str]) -> int:
    try:
        code = _dispatch(args)
        sys.stdout.flush()
    except SlothtrayError as error:
        code = _report(error, args)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has enough of it.
        streams.drop(sys.stdout)
        code = 0
    except OSError as error:
        code = _report_os_error(error, args)
    return code


def _report(error: SlothtrayError, args: list[str]) -> int:
    from slothtray.cli.complain import report

    if streams.outcome is not None:
        streams.outcome.error = error
    for as_json in (_wants_json(args), False):
        try:
            return report(error, as_json=as_json)
        except OSError:
            streams.drop(sys.stdout if as_json else sys.stderr)
    return error.exit_code


def _report_os_error(error: OSError, args: list[str]) -> int:
    """Of a file that has a name, or else of our output: then it can't be said there."""
    why = error.strerror or str(error)
    if error.filename is not None:
        return _report(StorageError(f"{error.filename}: {why}"), args)
    streams.drop(sys.stdout)
    return _report(StorageError(f"the output: {why}"), [])


def _announce(code: int) -> None:
    """Show what came of it (`--notify`). That it can't be shown is said, and changes nothing."""
    from slothtray.cli.announce import announce

    assert streams.outcome is not None
    outcome, streams.outcome = streams.outcome, None
    problem = announce(outcome, code)
    if problem:
        streams.tell(f"no notification was shown: {problem}")


def _wants_json(args: list[str]) -> bool:
    """Whether ``--json`` is among the options, not a word of the job's own command."""
    command = COMMANDS.get(ALIASES.get(args[0], args[0])) if args else None
    return "--json" in (args if command is None else split(command, args[1:])[0])


def _dispatch(args: list[str]) -> int:
    """``args`` loses what comes before the command, so that an error knows where that begins."""
    home: str | None = None
    while args and args[0].startswith("-"):
        word = args[0]
        if word in ("-h", "--help"):
            return _overview()
        if word == "--version":
            print(f"slothtray {slothtray.__version__}")
            return 0
        if word == "--notify":
            used = _listen()
        else:
            home, used = _home(word, args[1:])
        del args[:used]
    if args[:1] == ["help"]:
        # The word that people try first, whatever they come from.
        return _run(find(args[1]), ["--help"], home) if len(args) > 1 and args[1] != "help" else _overview()
    return _run(find(args[0]) if args else APP, args[1:], home)


def _listen() -> int:
    """Keep what comes of the command, for a notification; how many words of the command line that took."""
    from slothtray.cli.announce import Outcome

    streams.outcome = Outcome()
    return 1


def _home(word: str, rest: list[str]) -> tuple[str, int]:
    """The folder that ``--home`` names, and how many words that took. Raises ``Usage``."""
    name, equals, folder = word.partition("=")
    if name != "--home":
        from slothtray.cli import guess

        raise Usage(f"there is no option {word}", guess.option(word))
    folder = folder if equals else (rest[0] if rest else "")
    if not folder:
        raise Usage("--home needs a folder", "see `slothtray --help`")
    return folder, 1 if equals else 2


def _run(command: Command, words: list[str], home: str | None) -> int:
    try:
        parsed = parse(command, words)
    except SystemExit:
        return 0  # help was printed; it is flushed, or meets a closed pipe, like all output
    place = paths.find(home)
    if streams.outcome is not None and command is not APP:
        told = [command.name, *words]
        streams.outcome.begin(told, for_programs=_wants_json(told))
    try:
        return _call(command, parsed, place)
    except (SlothtrayError, OSError):
        raise
    except Exception as error:
        from slothtray.cli.complain import defect

        raise defect(error, place) from error


def _call(command: Command, parsed: "Parsed", place: paths.Paths) -> int:
    import importlib

    code: int = importlib.import_module(f"slothtray.cli.commands.{command.module}").run(parsed, place)
    return code


def _overview() -> int:
    from slothtray.cli.overview import overview

    print(overview())
    return 0


def find(word: str) -> Command:
    """The command that a word names. Raises ``Usage`` with the nearest one."""
    command = COMMANDS.get(ALIASES.get(word, word))
    if command is None:
        from slothtray.cli import guess

        raise Usage(f"there is no command {word!r}", guess.command(word))
    return command
