"""Readings of the machine and the desktop for `slothtray doctor`: values, without a judgement. Nothing is made or changed."""
