"""Makes assets/completions, for bash, zsh and fish, from the table of commands.

    python packaging/completions.py           rewrites the scripts (needs shtab); `dev.py generate` does

They are committed: nothing at build or run time needs this script, and a checkout completes as an installed slothtray does.
A test fails when they are not what this makes.
"""

import argparse
import os
import re
from collections.abc import Iterator

import shtab

from slothtray.cli.commands.completion import FILES
from slothtray.cli.parser import Command, parser_for
from slothtray.cli.table import COMMANDS, STATES
from slothtray.config import KEYS

TARGET = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "assets", "completions")

IDS = {
    "bash": "_slothtray_ids",
    "zsh": "_slothtray_ids",
    "fish": "(_slothtray_ids)",
    "preamble": {
        "bash": r"""
_slothtray_ids() {
  compgen -W "$(slothtray list -n 200 2>/dev/null | sed -n 's/^\([0-9][0-9]*\) .*/\1/p')" -- "$1"
}
""",
        # A colon parts an id from what is said of it.
        "zsh": r"""
_slothtray_ids() {
  local -a ids
  ids=(${(f)"$(slothtray list -n 200 2>/dev/null | sed -n 's/:/\\:/g; s/^\([0-9][0-9]*\)  */\1:/p')"})
  _describe -V 'job' ids
}
""",
        "fish": r"""
function _slothtray_ids
  slothtray list -n 200 2>/dev/null | string replace -rf '^([0-9]+) +' '$1\t'
end
""",
    },
}
"""Ids, with their jobs where the shell can show them, newest listing first as `list` has it."""

COMMAND_LINE = {
    "bash": "_slothtray_command_or_file",
    "zsh": "_normal",
    "fish": "(__fish_complete_subcommand --fcs-skip=2)",
    "preamble": {
        "bash": r"""
_slothtray_command_or_file() {
  [ -n "$1" ] && compgen -c -- "$1"
  compgen -f -- "$1"
}
"""
    },
}
"""The job: a program and its arguments, as far as each shell can tell."""

VARIABLES = {
    "bash": "_slothtray_variables",
    "zsh": "_parameters -g '*export*'",
    "fish": "(set --names --export)",
    "preamble": {"bash": '\n_slothtray_variables() {\n  compgen -e -- "$1"\n}\n'},
}

VALUES = {"DIR": shtab.DIRECTORY, "ID": IDS, "NAME[=VALUE]": VARIABLES}
"""What completes the value of an option, by its metavar."""


def known_words(command: Command) -> list[object]:
    """What completes the words of a command, one after the other: a list of words, or how to find them."""
    if command.many == "command":
        return [COMMAND_LINE]
    if "ID" in command.words:
        return [IDS]
    if command.words == "SHELL":
        return [list(FILES)]
    typed = re.findall(r"[a-z]{2,}", command.words)  # all else is in capitals, as it only stands for something
    return [typed, list(KEYS)] if "KEY" in command.words else [typed] if typed else []


def whole() -> argparse.ArgumentParser:
    """All commands in one parser, as shtab wants them."""
    root = argparse.ArgumentParser("slothtray", description="A job queue in your desktop's tray.")
    home = root.add_argument("--home", metavar="DIR", help="use the queue in this folder")
    complete(home, shtab.DIRECTORY)
    root.add_argument("--notify", action="store_true", help="tell in a notification, too, what came of it")
    root.add_argument("--version", action="store_true", help="print the version")
    commands = root.add_subparsers()
    for command in COMMANDS.values():
        brief = command.brief
        parser = commands.add_parser(
            command.name, parents=[completed(command)], add_help=False, description=brief, help=brief
        )
        if command.words:
            complete_words(parser, command)
    return root


def completed(command: Command) -> argparse.ArgumentParser:
    """A command's own parser, whose options know how to complete their values."""
    parser = parser_for(command)
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to get at them
        if "--state" in action.option_strings:
            action.choices = STATES
        elif isinstance(action.metavar, str) and action.metavar in VALUES:
            complete(action, VALUES[action.metavar])
    return parser


def complete_words(parser: argparse.ArgumentParser, command: Command) -> None:
    """Let the words after a command's options be completed, where anything is known of them."""
    for number, known in enumerate(known_words(command)):
        # Of argparse's kinds of "many" it is the one that shtab repeats in every shell.
        nargs = argparse.REMAINDER if not isinstance(known, list) and command.many in ("+", "*", "command") else None
        words = parser.add_argument(f"word_{number}", metavar=command.words, nargs=nargs, help=command.words)
        if isinstance(known, list):
            words.choices = known
        else:
            complete(words, known)


def complete(action: argparse.Action, how: object) -> None:
    """Tell shtab, which looks for an attribute of its own."""
    action.complete = how  # type: ignore[attr-defined]


def scripts() -> Iterator[tuple[str, str]]:
    """The name and the text of each script."""
    parser = whole()
    for shell, name in FILES.items():
        yield name, shtab.complete(parser, shell, root_prefix="slothtray").rstrip() + "\n"


def main() -> None:
    """Write them."""
    os.makedirs(TARGET, exist_ok=True)
    for name, text in scripts():
        with open(os.path.join(TARGET, name), "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
