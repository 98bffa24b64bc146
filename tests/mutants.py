"""Planted faults: one text in the source of one function is another one, for as long as a test runs."""

import importlib
import inspect
import sys
import textwrap


def plant(monkeypatch, where, before, after):
    """Exchange ``before``, which stands there once, for ``after`` in ``module:function``, ``module:Class.method`` or ``module:CONSTANT``."""
    module_name, _, path = where.partition(":")
    module = importlib.import_module(f"slothtray.{module_name}")
    owner_name, _, name = path.rpartition(".")
    owner = getattr(module, owner_name) if owner_name else module
    original = getattr(owner, name)
    if isinstance(original, str):
        changed = exchanged(original, before, after)
    else:
        source = exchanged(textwrap.dedent(inspect.getsource(original)), before, after)
        made = {}
        exec(compile(source, f"<mutant of {where}>", "exec"), module.__dict__, made)
        changed = made[name]
    holders = [owner] if owner_name else [one for one in _ours() if getattr(one, name, None) is original]
    for holder in holders:
        monkeypatch.setattr(holder, name, changed)


def _ours():
    """All modules that may have the original by name."""
    return [module for name, module in list(sys.modules.items()) if name.partition(".")[0] in ("slothtray", "queue_machine")]


def exchanged(text, before, after):
    """The text with the one for the other."""
    assert text.count(before) == 1, f"{before!r} stands there {text.count(before)} times: the mutant is out of date"
    return text.replace(before, after)
