"""A log that has outgrown its cap: head and tail stay, the line between says what is gone, readers step over the hole."""

import errno
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slothtray.system import logcap, tail

CAP = 100_000
HEAD = 1 << 15


def lines(count, start=0):
    """Lines of 20 bytes, each with its own number."""
    return b"".join(b"line %014d\n" % number for number in range(start, start + count))


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "1.log")


def append(path, data):
    with open(path, "ab") as file:
        file.write(data)


def shown(path, place=0):
    return b"".join(data for _, data in logcap.read(path, place))


def on_disk(path):
    return os.stat(path).st_blocks * 512


@pytest.fixture
def no_holes(monkeypatch):
    """A file system that can't punch."""

    def punch(*_):
        raise OSError(errno.EOPNOTSUPP, "not supported")

    monkeypatch.setattr(logcap, "punch", punch)


def test_a_log_within_its_cap_is_left_alone_and_so_is_one_that_is_not_there(path):
    assert logcap.trim(path, CAP) == 0
    append(path, lines(CAP // 20))
    assert logcap.trim(path, CAP) == 0
    assert shown(path) == lines(CAP // 20)


def test_the_head_and_the_tail_stay_and_a_line_says_how_much_is_gone(path):
    whole = lines(50_000)
    append(path, whole)
    gone = logcap.trim(path, CAP)
    seen = shown(path)
    head, tail_ = seen[: HEAD - logcap.MARK_SIZE], seen[HEAD:]
    assert seen[len(head) : HEAD] == logcap.mark(gone)
    assert whole.startswith(head)
    assert whole.endswith(tail_)
    assert len(seen) + gone == len(whole)
    assert CAP - 4096 <= len(seen) <= CAP
    assert tail_.startswith(b"line ")  # from its first whole line on
    assert on_disk(path) <= CAP + 8192
    assert os.path.getsize(path) == len(whole)  # the job's next line goes to the end that it had


def test_what_is_written_on_is_cut_again_and_counted_together(path):
    append(path, lines(10_000))
    gone = logcap.trim(path, CAP)
    append(path, lines(100, 10_000))
    assert shown(path).endswith(lines(100, 10_000))
    for start in range(10_100, 60_000, 10_000):
        append(path, lines(10_000, start))
        gone += logcap.trim(path, CAP)
    seen = shown(path)
    assert logcap.mark(gone) in seen
    assert seen.count(b"log_cap") == 1
    assert lines(60_100).endswith(seen[HEAD:])
    assert on_disk(path) <= CAP + 8192


@pytest.mark.parametrize("caps", [(CAP, 10 * CAP), (10 * CAP, CAP)])
def test_a_cap_that_was_changed_meanwhile_loses_no_count(path, caps):
    append(path, lines(100_000))
    gone = logcap.trim(path, caps[0])
    append(path, lines(100_000, 100_000))
    gone += logcap.trim(path, caps[1])
    seen = shown(path)
    assert logcap.mark(gone) in seen
    assert len(seen) <= caps[1]
    assert len(seen) + gone == 200_000 * 20
    assert lines(200_000).endswith(seen[HEAD:])


def test_a_death_between_the_line_and_the_hole_is_made_good_at_the_next_look(path, monkeypatch):
    append(path, lines(50_000))
    with monkeypatch.context() as patch:
        patch.setattr(logcap, "punch", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            logcap.trim(path, CAP)
    assert len(shown(path)) == 50_000 * 20  # all of it, until there is a hole
    logcap.trim(path, CAP)
    assert len(shown(path)) <= CAP


def test_the_line_of_another_log_in_this_one_hides_nothing(path):
    first = lines(HEAD // 20)[: HEAD - logcap.MARK_SIZE] + logcap.mark(2 * CAP) + lines(20_000)
    append(path, first)
    assert shown(path) == first
    assert logcap.trim(path, CAP)
    assert len(shown(path)) <= CAP


@pytest.mark.parametrize("cap", [CAP, 50 * CAP])
def test_where_no_hole_can_be_made_the_end_is_cut_but_for_the_last_lines(path, no_holes, cap):
    append(path, lines(400_000))
    gone = logcap.trim(path, cap)
    assert on_disk(path) <= cap + 8192
    assert tail.last_bytes(path, 60) == lines(3, 399_997)  # it may be over by now, and these may say why
    append(path, lines(400_000, 400_000))
    gone += logcap.trim(path, cap)
    append(path, lines(3, 800_000))
    seen = shown(path)
    assert len(seen) <= cap + 60
    assert logcap.mark(gone) in seen
    assert lines(800_003).endswith(seen[seen.index(b"-\n") + 2 :])
    assert tail.last_bytes(path, 60) == lines(3, 800_000)


# --- readers -------------------------------------------------------------------------------------------------------------------


def followed(path, place, pieces):
    for after, data in logcap.read(path, place):
        pieces.append(data)
        place = after
    return place


def test_a_follower_who_is_ahead_of_the_cut_misses_nothing(path):
    append(path, lines(50_000))
    pieces = []
    place = followed(path, 0, pieces)
    logcap.trim(path, CAP)
    append(path, lines(10, 50_000))
    place = followed(path, place, pieces)
    assert b"".join(pieces) == lines(50_010)


def test_a_follower_who_has_fallen_behind_the_cut_is_told_what_he_has_missed(path):
    append(path, lines(10_000))
    pieces = []
    place = followed(path, 0, pieces)
    append(path, lines(40_000, 10_000))
    logcap.trim(path, CAP)
    end = logcap.find(os.open(path, os.O_RDONLY)).end
    followed(path, place, pieces)
    seen = b"".join(pieces)
    assert seen == lines(10_000) + logcap.mark(end - place) + lines(50_000)[end:]


def test_a_follower_goes_on_from_the_cut_when_the_end_was_cut(path, no_holes):
    append(path, lines(50_000))
    pieces = []
    place = followed(path, 0, pieces)
    gone = logcap.trim(path, CAP)
    append(path, lines(10, 50_000))
    del pieces[:]
    followed(path, place, pieces)
    seen = b"".join(pieces)
    assert seen.startswith(logcap.mark(gone))
    assert seen.endswith(lines(10, 50_000))


def test_a_reader_in_the_middle_of_it_does_not_print_the_hole(path):
    append(path, lines(50_000))
    reading = logcap.read(path)
    _, first = next(reading)
    logcap.trim(path, CAP)
    seen = first + b"".join(data for _, data in reading)
    assert b"\0" not in seen
    assert seen.count(b"log_cap") == 1
    assert lines(50_000).endswith(seen[-1000:])


@settings(max_examples=40)
@given(st.integers(0, 4000), st.integers(60_000, 300_000))
def test_the_last_lines_are_found_over_the_cut(tmp_path_factory, count, size):
    path = str(tmp_path_factory.mktemp("log") / "1.log")
    append(path, lines(10_000)[:-7] + b"\n" * (size // 20_000))
    logcap.trim(path, CAP)
    expected = shown(path).splitlines(keepends=True)
    assert shown(path, tail.place_of_last(path, count)) == b"".join(expected[-count:] if count else [])


@pytest.mark.parametrize("cut", [False, True])
def test_case_14_the_end_of_300_megabytes_is_found_by_reading_a_few_blocks(path, monkeypatch, cut):
    with open(path, "wb") as file:
        file.truncate(300_000_000)
        file.seek(0, os.SEEK_END)
        file.write(lines(30))
    if cut:
        assert logcap.trim(path, CAP)
    read, pread = [], os.pread

    def counted(*words):
        read.append(pread(*words))
        return read[-1]

    monkeypatch.setattr(os, "pread", counted)
    assert shown(path, tail.place_of_last(path, 10)) == lines(10, 20)
    assert sum(map(len, read)) < 200_000
    assert len(read) < 100


@given(st.binary(max_size=200), st.integers(0, 3))
def test_any_bytes_come_out_as_they_went_in(tmp_path_factory, data, times):
    path = str(tmp_path_factory.mktemp("log") / "1.log")
    append(path, data * 10**times)
    logcap.trim(path, CAP * 10)
    assert shown(path) == data * 10**times
