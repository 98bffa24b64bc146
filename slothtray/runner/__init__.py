"""The runner: `step` decides and does one thing at a time, `loop` sleeps between the steps in one select."""

from slothtray.runner.loop import Loop, LoopThread
from slothtray.runner.step import Runner, Tell

__all__ = ["Loop", "LoopThread", "Runner", "Tell"]
