"""A PID namespace of its own for a part of a test: what looks there for a lost run's processes meets no other test's."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence

UNSHARE = ["unshare", *(["--map-root-user"] if os.geteuid() else []), "--pid", "--fork", "--mount-proc", "--kill-child"]
INIT = ["sh", "-c", '"$@"; exit $?', "init"]
"""Its first process: the part is not that one itself, as an orphan's new parent must not be of this program."""
CALL = """
import importlib, json, sys
path, module, name, words = json.loads(sys.argv[1])
sys.path[:] = path
print(json.dumps(getattr(importlib.import_module(module), name)(*words)))
"""


def in_namespace(function: Callable, *words: str, limit: float = 50.0, under: Sequence[str] = ()):
    """Call a function of a test's module with some texts in a namespace that ends with it; what it returned, by way of JSON.

    ``under``: a program that is to run all that, strace say.
    """
    call = json.dumps([sys.path, function.__module__, function.__name__, words])
    command = [*UNSHARE, *INIT, *under, sys.executable, "-c", CALL, call]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=limit, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
