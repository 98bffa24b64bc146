"""Makes assets/slothtray.1, the manual page, from the table of commands.

    python packaging/manual.py          rewrites it; `dev.py generate` does

It is committed, so that every kind of package has it at hand; a test fails when it is not what this makes.
"""

import os
import re
from collections.abc import Iterator

import slothtray
from slothtray.cli.parser import Command, Option
from slothtray.cli.table import ALIASES, COMMANDS

TARGET = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "assets", "slothtray.1")

SYNOPSIS = (
    r"\fBslothtray\fR [\fB\-\-home\fR \fIDIR\fR] [\fB\-\-notify\fR] [\fICOMMAND\fR [\fIOPTIONS\fR] [\fIWORDS\fR]]",
    r"\fBslothtray\fR \fB\-\-version\fR | \fB\-\-help\fR | \fICOMMAND\fR \fB\-\-help\fR",
)
DESCRIPTION = """\
slothtray is a job queue in the desktop's tray. Long commands are queued from any terminal or from the clipboard; it runs
them one after the other, by priority, whenever the load of the machine is below a ceiling, and otherwise waits and says why.

The queue outlives closed lids, crashes and power cuts: a job that was added is on the disk, none runs twice at once, and a
run that was cut short is repeated and the repeat is told.

Without a command it is the tray application. All other commands work whether that runs or not. Durations are written as
90, 90s, 5m, 2h or 1d; several ids as 12-15.
"""
NOTIFY = """\
Tell in a notification, too, what came of the command: for launchers and key bindings, where nobody reads what is printed. It comes
before the command, as in `slothtray --notify add --clipboard`. What is printed, and the exit code, stay as they are.
"""
EXIT_STATUS = {
    "0": "All is fine.",
    "1": "It was refused, there is no such job, or a job failed.",
    "2": "The words of the command don't fit.",
    "3": "Another app holds the queue folder.",
    "4": "The database or the queue folder can't be used.",
    "124": "`slothtray wait` has waited long enough.",
    "130": "It was interrupted.",
}
ENVIRONMENT = {
    "SLOTHTRAY_HOME": "The queue folder, unless --home names one. The settings are in it then.",
    "EDITOR, VISUAL": "What `slothtray edit` opens a job in.",
    "SHELL": "Runs a job that was given as one word.",
    "NO_COLOR": "When it is set, nothing is coloured.",
    "SLOTHTRAY_JOB, SLOTHTRAY_RUN, SLOTHTRAY_ATTEMPT": "Set for the job: its id, the name of this run, and which attempt it is.",
}
FILES = {
    "~/.local/share/slothtray": "The queue folder (in $XDG_DATA_HOME if that is set): queue.db, logs of the jobs, app.log.",
    "~/.config/slothtray/config.toml": "The settings (in $XDG_CONFIG_HOME if that is set). The file explains itself.",
}


def manual() -> str:
    """The page in man(7)'s language."""
    version = slothtray.__version__
    lines = [
        r'.\" Made by packaging/manual.py from the table of commands.',
        f'.TH SLOTHTRAY 1 "" "slothtray {version}" "User Commands"',
        ".SH NAME",
        r"slothtray \- job queue in the desktop's tray, which runs one job at a time",
        ".SH SYNOPSIS",
        *between(SYNOPSIS, ".br"),
        ".SH DESCRIPTION",
        *between(map(text, DESCRIPTION.strip().split("\n\n")), ".PP"),
        ".SH OPTIONS",
        *tagged(r"\fB\-\-home\fR \fIDIR\fR", "Use the queue in this folder, with the settings in it."),
        *tagged(r"\fB\-\-notify\fR", NOTIFY),
        *tagged(r"\fB\-\-version\fR", "Print the version."),
        *tagged(r"\fB\-h\fR, \fB\-\-help\fR", "Show all commands, or all about one."),
        ".SH COMMANDS",
    ]
    for command in COMMANDS.values():
        lines += of_command(command)
    for title, entries in (("EXIT STATUS", EXIT_STATUS), ("ENVIRONMENT", ENVIRONMENT), ("FILES", FILES)):
        lines.append(f".SH {title}")
        for tag, says in entries.items():
            lines += tagged(rf"\fB{escaped(tag)}\fR", says)
    lines += [".SH SEE ALSO", r"\fBat\fR(1), \fBbatch\fR(1), \fBnice\fR(1), \fBtsp\fR(1)"]
    return "\n".join(lines) + "\n"


def of_command(command: Command) -> Iterator[str]:
    """The section of one command: what it does, its options, examples."""
    options = r" [\fIOPTIONS\fR]" if command.options else ""
    words = f" {italic_words(command.words)}" if command.words else ""
    yield rf".SS \fBslothtray {command.name}\fR{options}{words}"
    aliases = [alias for alias, name in ALIASES.items() if name == command.name]
    also = f" Also as {' and '.join(f'`slothtray {alias}`' for alias in aliases)}." if aliases else ""
    yield text(command.summary + also)
    if command.detail:
        yield ".PP"
        yield text(command.detail)
    for option in command.options:
        yield from tagged(names(option), option.help[:1].upper() + option.help[1:] + ".")
    if command.examples:
        yield from (".PP", "Examples:", ".PP", ".RS 2", ".nf")
        yield from (beginning(escaped(example)) for example in command.examples)
        yield from (".fi", ".RE")


def names(option: Option) -> str:
    """An option as it is written, with its value."""
    written = ", ".join(rf"\fB{escaped(name)}\fR" for name in option.names)
    return written + (rf" \fI{escaped(option.metavar)}\fR" if option.metavar else "")


def italic_words(words: str) -> str:
    """The words of a command's usage: what stands for something is in capitals, all else is typed as it is."""
    return re.sub(r"[A-Z]{2,}", lambda found: rf"\fI{found[0]}\fR", escaped(words))


def tagged(tag: str, says: str) -> list[str]:
    """A term and what it means."""
    return [".TP", tag, text(says)]


def between(parts: "tuple[str, ...] | map[str]", separator: str) -> Iterator[str]:
    """The parts with the separator between them."""
    for number, part in enumerate(parts):
        if number:
            yield separator
        yield part


def text(words: str) -> str:
    """Running text; what stands in backticks is bold."""
    joined = escaped(" ".join(words.split()))
    return beginning(re.sub(r"`([^`]*)`", r"\\fB\1\\fR", joined))


def escaped(words: str) -> str:
    """As troff shows it unchanged, and as it can be copied back into a shell."""
    found = {"\\": r"\e", "-": r"\-", "'": r"\(aq", "^": r"\(ha", "~": r"\(ti", "…": "..."}
    return "".join(found.get(letter, letter) for letter in words)


def beginning(line: str) -> str:
    """A line that troff can't take for a request of its own."""
    return rf"\&{line}" if line.startswith((".", "'")) else line


def main() -> None:
    """Write it."""
    with open(TARGET, "w", encoding="utf-8") as file:
        file.write(manual())


if __name__ == "__main__":
    main()
