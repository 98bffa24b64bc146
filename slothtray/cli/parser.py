"""The command line as data: every command with its options, help and examples; pure. Only the command asked for gets a parser."""

import argparse

from slothtray.durations import parse_duration
from slothtray.errors import SlothtrayError, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn


class Option:
    """One option. Without ``metavar`` it is a flag; ``convert`` raises ``Usage`` for a value that won't do."""

    def __init__(
        self,
        names: tuple[str, ...],
        help: str,  # noqa: A002 - argparse's own word
        metavar: str = "",
        convert: "Callable[[str], object] | None" = None,
        *,
        repeat: bool = False,
    ) -> None:
        self.names, self.help, self.metavar, self.convert, self.repeat = names, help, metavar, convert, repeat
        self.key = max(names, key=len).lstrip("-").replace("-", "_")


class Command:
    """One command. ``words`` is what follows the options ("" for nothing); ``module`` in ``cli.commands`` runs it.

    ``many`` says how many words: "" none, "?" one or none, "1" one, "+" some, "*" any number, "command": the rest as it is.
    ``brief`` is what the overview says of it, in 26 characters at most.
    """

    def __init__(
        self,
        name: str,
        summary: str,
        module: str,
        options: tuple[Option, ...] = (),
        words: str = "",
        many: str = "",
        detail: str = "",
        examples: tuple[str, ...] = (),
        brief: str = "",
    ) -> None:
        self.name, self.summary, self.module, self.options = name, summary, module, options
        self.words, self.many, self.detail, self.examples = words, many, detail, examples
        self.brief = brief or summary.partition(". ")[0].rstrip(".").lower()


class Parsed:
    """A parsed command line: the options by key, the words, and whether ``--`` said to take them literally."""

    def __init__(self, command: Command, options: argparse.Namespace, words: list[str], *, verbatim: bool) -> None:
        self.command, self.words, self.verbatim = command, words, verbatim
        self._options = options

    def get(self, key: str) -> object:
        """An option's value; None (a flag: False) when it wasn't given."""
        return getattr(self._options, key)

    def number(self, key: str) -> float | None:
        """The value of an option that is a number or a duration."""
        value = self.get(key)
        return float(value) if isinstance(value, int | float) else None

    def whole(self, key: str) -> int | None:
        """The value of an option that is a whole number."""
        value = self.get(key)
        return value if isinstance(value, int) else None

    def text(self, key: str) -> str | None:
        """The value of an option that is a text."""
        value = self.get(key)
        return value if isinstance(value, str) else None

    def texts(self, key: str) -> list[str]:
        """All values of an option that may be given again and again."""
        value = self.get(key)
        return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []

    def flag(self, key: str) -> bool:
        """Whether a flag was given."""
        return bool(self.get(key))


def whole_number(text: str) -> int:
    """A whole number. Raises ``Usage``."""
    try:
        number = int(text)
    except ValueError:
        raise Usage(f"{text!r} is not a whole number") from None
    if abs(number) > LARGEST:
        raise Usage(f"{text} is too large a number")
    return number


def load_ceiling(text: str) -> float:
    """A load ceiling: a number above 0, or ``off`` (infinity). Raises ``Usage``."""
    if text.strip().lower() == "off":
        return float("inf")
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise Usage(f"{text!r} is not a load ceiling", "use a number such as 1.5, or off")
    return value


WIDTH = 80
"""Columns that help is made for, whatever the terminal has: longer lines are harder to read, and a narrower one is rare."""

LARGEST = 10**15
BEFORE_COMMAND = {"--home": "--home DIR", "--notify": "--notify"}

JSON = Option(("--json",), "print JSON for programs")
PRIORITY = Option(("-p", "--priority"), "-20 to 19, higher runs first (0)", "N", whole_number)
MAX_RUNTIME = Option(("-t", "--max-runtime"), "kill the job and all it started after this long", "DUR", parse_duration)
ATTEMPTS = Option(("--attempts",), "try this often when it fails, 2, 4, 8 … s apart (1)", "N", whole_number)


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """For 80 columns, with one line an option: its value is named once, not after each of its names."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=WIDTH)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        return " ".join([", ".join(action.option_strings), *([action.metavar] if isinstance(action.metavar, str) else [])])


class _Parser(argparse.ArgumentParser):
    """argparse's, but a mistake is a ``Usage`` that is raised, not an exit with two lines."""

    def error(self, message: str) -> "NoReturn":
        raise Usage(message.removeprefix("argument "), f"see `{self.prog} --help`")


def split(command: Command, args: "Sequence[str]") -> tuple[list[str], list[str], bool]:
    """The options (with their values joined to them), the words, and whether ``--`` came between them.

    For a command that takes a command line everything from the first word that is no option on belongs to that; elsewhere
    options may stand anywhere.
    """
    valued = {name for option in command.options if option.metavar for name in option.names}
    options: list[str] = []
    words: list[str] = []
    rest = list(args)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return options, words + rest, True
        if word == "-" or not word.startswith("-"):
            words.append(word)
            if command.many == "command":
                return options, words + rest, False
        elif word in valued and rest:
            options.append(f"{word}={rest.pop(0)}" if word.startswith("--") else f"{word}{rest.pop(0)}")
        else:
            options.append(word)
    return options, words, False


def parser_for(command: Command) -> argparse.ArgumentParser:
    """The argparse parser of one command; also what help, completion and the manual are made from."""
    parser = _Parser(
        prog=f"slothtray {command.name}",
        usage=usage(command),
        description=command.summary + ("\n\n" + command.detail if command.detail else ""),
        epilog=_examples(command.examples),
        formatter_class=_Formatter,
        allow_abbrev=False,
        add_help=False,
    )
    for option in command.options:
        _add(parser, option)
    parser.add_argument("-h", "--help", action="help", help="show this and end")
    return parser


def _add(parser: argparse.ArgumentParser, option: Option) -> None:
    if not option.metavar:
        parser.add_argument(*option.names, dest=option.key, action="store_true", help=option.help)
        return
    action = "append" if option.repeat else "store"
    parser.add_argument(*option.names, dest=option.key, metavar=option.metavar, action=action, help=option.help)


def usage(command: Command) -> str:
    """The first line of a command's help."""
    options = " [OPTIONS]" if command.options else ""
    return f"slothtray {command.name}{options}" + (f" {command.words}" if command.words else "")


def _examples(lines: "Sequence[str]") -> str:
    return "examples:\n" + "\n".join(f"  {line}" for line in lines) if lines else ""


def parse(command: Command, args: "Sequence[str]") -> Parsed:
    """Parse what follows a command's name. Raises ``Usage``, or ``SystemExit`` after printing help."""
    options, words, verbatim = split(command, args)
    namespace, unknown = parser_for(command).parse_known_args(options) if options else (_nothing_given(command), [])
    if unknown:
        raise _no_option(command, unknown[0])
    for option in command.options:
        _convert(option, namespace)
    _check_words(command, words)
    return Parsed(command, namespace, words, verbatim=verbatim)


def _nothing_given(command: Command) -> argparse.Namespace:
    """What argparse would make of no options. Most commands have none, and making a parser takes 3 ms for gettext and locale."""
    return argparse.Namespace(**{option.key: None if option.metavar else False for option in command.options})


def _no_option(command: Command, word: str) -> Usage:
    import difflib

    name = word.partition("=")[0]
    known = [name for option in command.options for name in option.names]
    near = difflib.get_close_matches(name, known, n=1) or [one for one in known if len(name) > 3 and one.startswith(name)]
    hint = f"did you mean {near[0]}?" if near else f"see `slothtray {command.name} --help`"
    if name in BEFORE_COMMAND:
        hint = f"it comes before the command: `slothtray {BEFORE_COMMAND[name]} {command.name}`"
    return Usage(f"`slothtray {command.name}` has no option {name}", hint)


def _convert(option: Option, namespace: argparse.Namespace) -> None:
    value = getattr(namespace, option.key)
    if option.convert is None or value is None:
        return
    try:
        converted = [option.convert(one) for one in value] if option.repeat else option.convert(value)
    except SlothtrayError as error:
        raise Usage(f"{'/'.join(option.names)}: {error.title}", error.message) from error
    setattr(namespace, option.key, converted)


def _check_words(command: Command, words: "Sequence[str]") -> None:
    hint = f"usage: {usage(command)}"
    if command.many == "" and words:
        raise Usage(f"`slothtray {command.name}` takes no {words[0]!r}", hint)
    if command.many in ("?", "1") and len(words) > 1:
        raise Usage(f"`slothtray {command.name}` takes one {command.words.strip('[]')}, not {len(words)}", hint)
    if command.many in ("1", "+") and not words:
        raise Usage(f"`slothtray {command.name}` needs {command.words}", hint)
