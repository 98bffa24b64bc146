"""The command line: parser (what may be said), commands (what it does), render (how it looks). `main` is the way in."""

from slothtray.cli.main import main

__all__ = ["main"]
