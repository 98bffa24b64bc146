"""Runs and tests slothtray from a checkout: makes the environments that takes, then does what is asked.

Needs Python 3.11 and nothing else. The second time is quick: an environment that is whole has a stamp in it.
"""

import sys

# Ahead of all that an older Python can't run; the whole file is in a syntax that one can read.
if sys.version_info < (3, 11):  # noqa: UP036
    sys.exit(f"dev.py: python3.11 or newer is missing, this is {sys.version_info[0]}.{sys.version_info[1]}")

import os
import time
from collections.abc import Callable

from machine import ROOT, Stop, Venv, base_python, become, call, ensure_debian_packages, say, version_of

GI_PYTHON = "/usr/bin/python3"
"""The one interpreter for which a distribution brings PyGObject; pip would have to compile it."""

# --- steps of a test run --------------------------------------------------------------------------------------

Step = tuple[str, Callable[[], int]]


def preparations(venv: Venv) -> list[Step]:
    """What has to be there before the first check."""
    steps: list[Step] = [("Debian packages", ensure_debian_packages), (venv.name, venv.ensure)]
    if sys.platform == "linux":
        steps.append((".venv-gi", ensure_gi_venv))
    return steps


def ensure_gi_venv() -> int:
    """The environment of the gtk fall-back's test; without it that test can't run, all others can."""
    if os.path.exists(GI_PYTHON) and version_of(GI_PYTHON):
        return Venv(".venv-gi", GI_PYTHON, system_packages=True).ensure()
    say(f"no .venv-gi: {GI_PYTHON} isn't Python 3.11 or newer")
    return 0


def checks(venv: Venv, pytest_arguments: list[str]) -> list[Step]:
    """The checks, the quick ones first."""

    def check(program: str, *words: str) -> Step:
        return program, lambda: call([venv.program(program), *words], cwd=ROOT)

    return [
        check("ruff", "check"),
        check("mypy"),
        check("lint-imports", "--no-logo"),
        # Most tests wait for a process; a file stays on one worker, as what it has made once serves all its tests.
        check("pytest", "-n", str(2 * (os.cpu_count() or 1)), "--dist", "loadfile", *pytest_arguments),
    ]


def in_order(steps: list[Step]) -> int:
    """Runs steps until one fails; the exit code is that one's. Tells in the end how long each took."""
    took = []
    code = 0
    try:
        for name, action in steps:
            say(name)
            start = time.monotonic()
            try:
                code = action()
            finally:
                took.append(f"{name} {time.monotonic() - start:.1f} s")
            if code:
                say(f"{name} failed")
                break
    finally:
        say(", ".join(took))
    return code


# --- the commands ---------------------------------------------------------------------------------------------


def run(arguments: list[str]) -> int:
    """Queues each argument as a job and becomes slothtray; comes back only when a job could not be queued."""
    options = [word for word in arguments if word.startswith("-")]
    for option in options:
        if option != "--until-empty":
            raise Stop(f"run knows no {option}: see --help", 2)
    venv = Venv(".venv", base_python())
    venv.ensure()
    slothtray = venv.program("slothtray")
    for command in arguments:
        if command not in options:
            say(f"queueing {command!r}; its id:")
            code = call([slothtray, "add", "-q", command])
            if code:
                return code
    say(f"in another terminal `{os.path.relpath(slothtray)} list` shows the queue")
    return become(slothtray, *runner_words(until_empty=bool(options)))


def test(arguments: list[str]) -> int:
    """Runs every check in order and stops at the first that fails, with its exit code."""
    venv = Venv(".venv", base_python(), extra="test")
    return in_order([*preparations(venv), *checks(venv, arguments)])


def demo(arguments: list[str]) -> int:
    """Four tiny jobs behind a ceiling, in a folder of their own."""
    return with_program("demo", arguments, [os.path.join(ROOT, "packaging", "demo.py")])


def bench(arguments: list[str]) -> int:
    """The figures that the README tells, measured on this machine; give it some quiet."""
    nothing_more("bench", arguments)
    folder = os.path.join(ROOT, "tests", "bench")
    scripts = sorted(name for name in os.listdir(folder) if name.endswith(".py") and name not in ("__init__.py", "measure.py"))
    return max(with_program("bench", [], [os.path.join(folder, name)]) for name in scripts)


def chaos(arguments: list[str]) -> int:
    """Campaigns of SIGKILLs and power cuts, as long as you like; what they have found, and the README's table."""
    return with_venv(Venv(".venv", base_python()), [os.path.join(ROOT, "tests", "chaos", "long.py"), *arguments])


def with_program(name: str, arguments: list[str], words: list[str]) -> int:
    """Run a script of the checkout with the environment's Python; it takes no arguments of its own."""
    nothing_more(name, arguments)
    return with_venv(Venv(".venv", base_python()), words)


def generate(arguments: list[str]) -> int:
    """The manual page and the completions anew, after a change of the commands."""
    nothing_more("generate", arguments)
    return with_tools("manual.py") or with_tools("completions.py")


def package(arguments: list[str]) -> int:
    """All that gets installed, into dist/; ``--frozen``: the folder that needs no Python."""
    if arguments == ["--frozen"]:
        venv = Venv(".venv-frozen", base_python(), extra="frozen")
        return with_venv(venv, [os.path.join(ROOT, "packaging", "package.py"), "--frozen"])
    nothing_more("package", arguments)
    return generate([]) or with_tools("package.py")


def debian(arguments: list[str]) -> int:
    """The README's commands and the package in fresh Debian root folders."""
    return with_tools("debian.py", *arguments)


def with_tools(script: str, *words: str) -> int:
    """Run a script of packaging/ with what the tests use."""
    return with_venv(Venv(".venv", base_python(), extra="test"), [os.path.join(ROOT, "packaging", script), *words])


def with_venv(venv: Venv, words: list[str]) -> int:
    """Run an environment's Python, after making sure of it."""
    venv.ensure()
    return call([venv.program("python"), *words])


def nothing_more(name: str, arguments: list[str]) -> None:
    """Raises Stop when a command that takes no arguments has got some."""
    if arguments:
        raise Stop(f"{name} takes no {arguments[0]}: see --help", 2)


COMMANDS: dict[str, tuple[Callable[[list[str]], int], str, str]] = {
    "run": (run, "[--until-empty] [COMMAND ...]", "queue each COMMAND, start slothtray"),
    "demo": (demo, "", "four tiny jobs behind a load ceiling"),
    "bench": (bench, "", "measure the README's figures"),
    "generate": (generate, "", "make manual page and completions anew"),
    "package": (package, "[--frozen]", "build what gets installed, into dist/"),
    "debian": (debian, "[12] [13]", "try it in fresh Debian systems, as root"),
    "chaos": (chaos, "[app|supervisor|both|power]", "kill and cut the power while jobs run"),
    "test": (test, "[PYTEST ARGUMENTS ...]", "all checks, then all tests"),
}

EXAMPLES = """\
examples:
  python3 packaging/dev.py run "echo hello"
  python3 packaging/dev.py run --until-empty "make -C ~/src" "echo done"
  python3 packaging/dev.py test
  python3 packaging/dev.py demo
  python3 packaging/dev.py test -k policy -x
  python3 packaging/dev.py chaos --jobs 300 --seed 7 both

--until-empty works in this terminal and ends with the last job.
chaos without a word runs all campaigns: an hour.
"""


def usage() -> str:
    """The whole help, made from the table of commands."""
    lines = (f"  {f'{name} {takes}':34} {does}\n" for name, (_, takes, does) in COMMANDS.items())
    return "usage: python3 packaging/dev.py COMMAND\n\n" + "".join(lines) + "\n" + EXAMPLES


def runner_words(*, until_empty: bool) -> list[str]:
    """The words after ``slothtray``: none for the tray app, else those of the plain runner."""
    if until_empty:
        return ["run", "--until-empty"]
    if sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        return []
    say("no desktop here (no DISPLAY, no WAYLAND_DISPLAY): the plain runner runs in this terminal")
    return ["run"]


def main(arguments: list[str]) -> int:
    """The exit code of the command that the arguments ask for."""
    name, *rest = arguments or [""]
    if name in ("-h", "--help") or rest[:1] in (["-h"], ["--help"]):
        print(usage(), end="")
        return 0
    try:
        if name not in COMMANDS:
            raise Stop(f"no command {name or 'given'}; there are {', '.join(COMMANDS)}: see --help", 2)
        action, _, _ = COMMANDS[name]
        return action(rest)
    except Stop as stop:
        say(str(stop))
        return stop.code
    except OSError as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
