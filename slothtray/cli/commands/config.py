"""`slothtray config`: what is in force and where it comes from; one key read, set or taken back; where the file is."""

import contextlib
import json

from slothtray import bell
from slothtray.cli import settings
from slothtray.cli.complain import report
from slothtray.cli.parser import Parsed
from slothtray.cli.streams import show_path
from slothtray.config import KEYS, Reading, editing
from slothtray.config.values import as_words
from slothtray.errors import ConfigError, StorageError, Usage
from slothtray.paths import Paths
from slothtray.text import clean

BACK = "default"
"""The word that takes a key back to its default, besides `unset`. No key has it for a value of its own."""


def run(parsed: Parsed, paths: Paths) -> int:
    """Show or change the settings; 2 when the file has something wrong in it, which is said after what can be shown."""
    as_json = parsed.flag("json")
    match parsed.words:
        case [] | ["get"]:
            return _all(paths, as_json=as_json)
        case ["get", name]:
            return _one(paths, editing.key_of(name), as_json=as_json)
        case ["set", name, first, *more]:
            return _set(paths, editing.key_of(name), [first, *more])
        case ["unset", name]:
            return _set(paths, editing.key_of(name), [BACK])
        case ["path"]:
            return _path(paths, as_json=as_json)
    raise _not_meant(parsed.words)


def _all(paths: Paths, *, as_json: bool) -> int:
    reading = settings.reading(paths)
    if as_json:
        keys = [_key_json(name, reading, paths) for name in KEYS]
        print(json.dumps({"version": 1, "path": paths.config, "problem": reading.problem or None, "keys": keys}))
        return 2 if reading.problem else 0
    rows = [(name, _value(name, reading), _source(name, reading, paths)) for name in KEYS]
    wide = max(len(value) for _, value, _ in rows)
    for name, value, source in rows:
        print(f"{name:<12}  {value:<{wide}}  {source}")
    return _problem(reading)


def _one(paths: Paths, name: str, *, as_json: bool) -> int:
    reading = settings.reading(paths)
    if as_json:
        print(json.dumps({"version": 1, "problem": reading.problem or None, "key": _key_json(name, reading, paths)}))
        return 2 if reading.problem else 0
    print(as_words(_written(name, reading)))
    return _problem(reading)


def _set(paths: Paths, name: str, words: list[str]) -> int:
    text = ("," if isinstance(KEYS[name].default, list) else " ").join(words)
    value = None if text == BACK else editing.value_of(name, text)
    editing.change(paths.config, name, value, settings.base())
    bell.ring(paths)
    return 0


def _path(paths: Paths, *, as_json: bool) -> int:
    with contextlib.suppress(StorageError):  # what is asked for is the path; an editor will tell why it can't write there
        editing.ensure(paths.config)
    if as_json:
        print(json.dumps({"version": 1, "path": paths.config}))
    else:
        show_path(paths.config)
    return 0


def _problem(reading: Reading) -> int:
    return report(ConfigError(reading.problem), as_json=False) if reading.problem else 0


def _written(name: str, reading: Reading) -> object:
    return reading.written.get(name, KEYS[name].default)


def _value(name: str, reading: Reading) -> str:
    words = clean(as_words(_written(name, reading)), 60)
    ceiling = reading.config.ceiling
    return f"{words} ({ceiling:g})" if words == "auto" and ceiling is not None else words or "(none)"


def _source(name: str, reading: Reading, paths: Paths) -> str:
    line = editing.line_of(paths.config, name) if name in reading.written else None
    return "(default)" if line is None else f"line {line}"


def _key_json(name: str, reading: Reading, paths: Paths) -> dict[str, object]:
    """``value`` in seconds, bytes and null for "no limit"; ``text`` as people write it."""
    return {
        "name": name,
        "value": getattr(reading.config, name),
        "text": as_words(_written(name, reading)),
        "default": as_words(KEYS[name].default),
        "line": editing.line_of(paths.config, name) if name in reading.written else None,
        "meaning": KEYS[name].meaning,
    }


def _not_meant(words: list[str]) -> Usage:
    verb = words[0]
    if verb in KEYS:
        action = "get" if len(words) == 1 else "set"
        return Usage(f"`slothtray config` takes no {verb!r} there", f"did you mean `slothtray config {action} {' '.join(words)}`?")
    usage = {"get": "get [KEY]", "set": "set KEY VALUE", "unset": "unset KEY", "path": "path"}
    if verb in usage:
        return Usage(f"`slothtray config {' '.join(words)}` is not complete, or too much", f"use `slothtray config {usage[verb]}`")
    return Usage(f"there is no `slothtray config {verb}`", "use get, set, unset or path")
