"""Text that may be shown."""

import re
import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slothtray.text import clean, duration_words

ANY_TEXT = st.text(st.characters(exclude_categories=())) | st.text("a \t\n\r\x00\x1b\x9b\u202e\u2066\ufeff\udc80\u200d😀", max_size=30)


@given(ANY_TEXT, st.none() | st.integers(0, 40))
def test_nothing_that_moves_a_cursor_turns_the_reading_or_breaks_a_bus_message_is_left(text, limit):
    line = clean(text, limit)
    assert {unicodedata.category(one) for one in line} & {"Cc", "Cs", "Zl", "Zp"} == set()
    assert not any(unicodedata.bidirectional(one) in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"} for one in line)
    line.encode()


@given(ANY_TEXT)
def test_cleaning_twice_is_cleaning_once(text):
    assert clean(clean(text)) == clean(text)


@given(ANY_TEXT, st.integers(1, 40))
def test_a_limit_is_kept_and_a_cut_is_seen(text, limit):
    whole, line = clean(text), clean(text, limit)
    assert len(line) <= limit
    if len(whole) > limit:
        assert line.endswith("…")
        assert whole.startswith(line[:-1])
    else:
        assert line == whole


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("make -j4", "make -j4"),
        ("  make\t-j4   all  ", "make -j4 all"),
        ("one\ntwo\r\nthree\n\n", "one ↵ two ↵ three"),
        ("\x1b[31mred\x1b[0m\x00\x07", "␛[31mred␛[0m␀␇"),
        ("caf\udce9 \x9b31m", "caf� �31m"),
        ("\u202egpj.\u202chs \u2066x\u2069\u200b\ufeff", "gpj.hs x"),
        ("a\u3164b\U000e0041", "ab"),
        ("naïve 日本語 👨\u200d👩\u200d👧 ❤\ufe0f", "naïve 日本語 👨\u200d👩\u200d👧 ❤\ufe0f"),
        ("", ""),
    ],
)
def test_what_a_person_sees(text, line):
    assert clean(text) == line


def test_a_cut_leaves_no_joiner_dangling():
    assert clean("ab👨\u200d👩\u200d👧", 5) == "ab👨…"


def test_the_module_is_cheap_for_add():
    code = "import sys; before = set(sys.modules); import slothtray.text; print(*sorted(set(sys.modules) - before))"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert out.split() == ["slothtray", "slothtray.text"]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"), (-3, "0 s"), (float("nan"), "0 s"), (0.04, "0 s"), (0.44, "0.4 s"), (2, "2 s"), (2.55, "2.5 s"), (12.9, "12 s"),
        (59.9, "59 s"), (60, "1 min"), (90, "1 min 30 s"), (600, "10 min"), (659, "10 min"), (3600, "1 h"), (3900, "1 h 5 min"),
        (3601, "1 h"), (36000, "10 h"), (86400, "1 d"), (90000, "1 d 1 h"), (3 * 86400, "3 d"), (float("inf"), "forever"),
    ],
)  # fmt: skip
def test_durations_in_words(seconds, words):
    assert duration_words(seconds) == words


@given(st.floats(0, 1e9))
def test_a_duration_is_never_said_longer_than_it_is_and_at_most_a_tenth_shorter(seconds):
    size = {"s": 1, "min": 60, "h": 3600, "d": 86400}
    said = sum(float(number) * size[unit] for number, unit in re.findall(r"([\d.]+) (\w+)", duration_words(seconds)))
    assert said <= seconds <= said * 1.1 + 0.1
