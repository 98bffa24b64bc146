"""A progress bar in a log: on a terminal its last state is its line, into a pipe every byte goes."""

import itertools
import subprocess

import pytest
from harness import PROGRAM
from hypothesis import given
from hypothesis import strategies as st
from ptys import shown

from slothtray.cli.folding import LONGEST, folded


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"a\nb\n", b"a\nb\n"),
        (b"a\r\nb\r\n", b"a\r\nb\r\n"),
        (b" 1%\r 50%\r100%\ndone\n", b"100%\ndone\n"),
        (b"\r1%\r2%\r\n", b"2%\r\n"),
        (b"|    | 1/9 [00:01]\r|\xe2\x96\x88   | 9/9 [00:09]\nx", b"|\xe2\x96\x88   | 9/9 [00:09]\nx"),
        (b"\x1b[32m1%\x1b[K\r\x1b[1;33m99%\x1b[K\r", b"\x1b[1;33m99%\x1b[K\r"),
        (b"rm -rf x\recho harmless\n", b"rm -rf x\recho harmless\n"),  # nothing is hidden by what is written over it
        ("löschen 1\rfertig 2\r\n".encode(), "löschen 1\rfertig 2\r\n".encode()),
        (b"5 of 9\r6 of 9\rdone\n", b"6 of 9\rdone\n"),
        (b"1%\r2%", b"2%"),
        (b"1%\rend", b"1%\rend"),
        (b"", b""),
    ],
)
def test_of_a_progress_bars_states_the_last_is_shown(data, text):
    assert b"".join(folded([data])) == text
    assert b"".join(folded(bytes([byte]) for byte in data)) == text


PARTS = st.lists(st.sampled_from([b"a", b"1", b"22", b"\r", b"\n", b"\r\n", b"\xc3\xa9"]), max_size=40).map(b"".join)


@given(PARTS, st.lists(st.integers(0, 60), max_size=5))
def test_the_pieces_in_which_it_comes_make_no_difference_and_no_line_is_lost(data, cuts):
    places = sorted({0, len(data), *(cut for cut in cuts if cut <= len(data))})
    pieces = [data[start:end] for start, end in itertools.pairwise(places)]
    whole = b"".join(folded([data]))
    assert b"".join(folded(pieces)) == whole
    assert whole.count(b"\n") == data.count(b"\n")
    assert whole.split(b"\n")[-1].rpartition(b"\r")[2] == data.split(b"\n")[-1].rpartition(b"\r")[2]


def test_a_line_that_never_ends_is_shown_as_it_comes():
    pieces = folded([b"1\r", *[b"x" * 1000] * 200])
    assert sum(len(next(pieces)) for _ in range(100)) > LONGEST


def test_case_14_a_progress_bar_is_one_line_on_a_terminal_and_all_its_states_in_a_pipe(running):
    number = running.add(r"printf 'a\n\377\nb\n'; for i in 1 2 3 4 5; do printf '\r%d0 %%' $i; done; printf '\ndone\n'")
    assert running.wait_for(number, "done") == "done"
    assert shown(running, "log", str(number)).splitlines() == ["a", "�", "b", "50 %", "done"]
    assert shown(running, "log", "-n", "2", str(number)).splitlines() == ["50 %", "done"]
    piped = subprocess.run([*PROGRAM, "log", str(number)], env=running.environment, capture_output=True, check=True).stdout
    assert piped == b"a\n\xff\nb\n\r10 %\r20 %\r30 %\r40 %\r50 %\ndone\n"
