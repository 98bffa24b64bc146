"""`config.toml`: what may stand in it, what is said when it is wrong, and what comes of a change of its text."""


import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slothtray.config import KEYS, Config, defaults, editing, parse
from slothtray.config.values import as_words
from slothtray.errors import Usage

BASE = defaults(2.5)
DAY = 86400.0


def problem(text):
    return parse(text, BASE).problem


# --- the table ---------------------------------------------------------------------------------------------------------


def test_the_table_of_keys_has_every_field_of_the_config_in_its_order():
    assert tuple(KEYS) == Config._fields


def test_the_template_says_nothing_and_shows_every_default():
    assert parse(editing.template(), BASE) == (BASE, {}, "")
    uncommented = "".join(line[1:] if line[:1] == "#" and line[1:2] != " " else line for line in editing.template().splitlines(True))
    assert parse(uncommented, BASE) == (BASE, {name: key.default for name, key in KEYS.items()}, "")


def test_the_defaults_are_those_of_the_design():
    assert defaults(2.5)._asdict() == {
        "ceiling": 2.5, "interval": 15, "cooldown": 5, "attempts": 1, "backoff_cap": 3600, "kill_grace": 10, "lease": 60, "settle": 30,
        "max_runtime": None, "nice": 10, "log_cap": 50_000_000, "prune_after": 30 * DAY, "notify_on": ("failed", "held"),
        "quiet_hours": None, "keep_env": (),
    }


# --- values ------------------------------------------------------------------------------------------------------------

GOOD = [
    ("ceiling", "1", 1.0),
    ("ceiling", "0.25", 0.25),
    ("ceiling", '"1.5"', 1.5),
    ("ceiling", '"auto"', 2.5),
    ("ceiling", '"Off"', None),
    ("interval", "1", 1.0),
    ("interval", '"1m30s"', 90.0),
    ("cooldown", "0", 0.0),
    ("cooldown", '"0s"', 0.0),
    ("cooldown", "0.5", 0.5),
    ("attempts", "7", 7),
    ("backoff_cap", '"2d"', 2 * DAY),
    ("kill_grace", '"0s"', 0.0),
    ("lease", "'90'", 90.0),
    ("settle", '"1m"', 60.0),
    ("max_runtime", '"none"', None),
    ("max_runtime", '"2h"', 7200.0),
    ("nice", "0", 0),
    ("nice", "19", 19),
    ("log_cap", '"1GB"', 1_000_000_000),
    ("log_cap", "100000", 100_000),
    ("prune_after", '"never"', None),
    ("prune_after", '"1h"', 3600.0),
    ("notify_on", "[]", ()),
    ("notify_on", '["done", "failed", "done"]', ("done", "failed")),
    ("notify_on", '[\n  "retry", # again\n  "empty",\n]', ("retry", "empty")),
    ("quiet_hours", '"22:00-07:00"', ("22:00", "07:00")),
    ("quiet_hours", '" 9:30 - 17:00 "', ("09:30", "17:00")),
    ("quiet_hours", '"none"', None),
    ("keep_env", '["GITHUB_TOKEN", "A(b)"]', ("GITHUB_TOKEN", "A(b)")),
]
BAD = [
    ("ceiling", '"hi"', "use a number above 0, auto or off"),
    ("ceiling", "0", "above 0"),
    ("ceiling", "-1", "above 0"),
    ("ceiling", "nan", "above 0"),
    ("ceiling", "inf", "above 0"),
    ("ceiling", "true", "above 0"),
    ("ceiling", "[1]", "above 0"),
    ("interval", "0", "at least 1 s"),
    ("interval", '"soon"', "use a duration such as 90, 15s, 5m or 2h"),
    ("cooldown", "-1", "at least 0 s"),
    ("cooldown", "false", "use a duration"),
    ("attempts", "0", "use a whole number from 1 to 1000000"),
    ("attempts", "1.5", "whole number"),
    ("attempts", '"2"', "whole number"),
    ("backoff_cap", '"0s"', "at least 1 s"),
    ("kill_grace", '"-5s"', "use a duration"),
    ("lease", "1e300", "less than a hundred years"),
    ("settle", '"none"', "use a duration"),
    ("max_runtime", "0", "at least 1 s, or none"),
    ("max_runtime", '"never"', "2h, or none"),
    ("nice", "-1", "from 0 to 19"),
    ("nice", "20", "from 0 to 19"),
    ("log_cap", '"much"', "use a size such as"),
    ("log_cap", "50", "at least 100 kB"),
    ("log_cap", "1.5", "use a size such as"),
    ("prune_after", "30", "at least 1 h, or never"),
    ("notify_on", '"failed"', "use a list of some of failed, held, done, retry, empty"),
    ("notify_on", '["failed", "Held"]', "use a list of some of"),
    ("notify_on", '["failed", ["held"]]', "use a list of some of"),
    ("quiet_hours", '"22-7"', "use hours such as 22:00-07:00, or none"),
    ("quiet_hours", '"22:00-24:00"', "use hours"),
    ("quiet_hours", '"22:00-22:00"', "use hours"),
    ("keep_env", '["A=B"]', "names of variables"),
    ("keep_env", '[""]', "names of variables"),
    ("keep_env", "[1]", "names of variables"),
    ("keep_env", '"A"', "names of variables"),
]


def test_every_key_has_values_that_do_and_values_that_do_not():
    assert {key for key, *_ in GOOD} == {key for key, *_ in BAD} == set(KEYS)


@pytest.mark.parametrize(("key", "written", "field"), GOOD)
def test_a_good_value_is_taken_and_nothing_else_changes(key, written, field):
    found = parse(f"# mine\n{key} = {written}\n", BASE)
    assert found.problem == ""
    assert found.config == BASE._replace(**{key: field})
    assert type(getattr(found.config, key)) is type(field)


@pytest.mark.parametrize(("key", "written", "words"), BAD)
def test_a_bad_value_is_one_line_with_file_line_key_and_what_would_do(key, written, words):
    found = parse(f'\n\n{"nice" if key != "nice" else "attempts"} = 3\n\n{key} = {written}\n', BASE)
    assert found.problem.startswith(f"config.toml, line 5: {key} = ")
    assert words in found.problem
    assert found.problem.isprintable()
    assert getattr(found.config, key) == getattr(BASE, key)
    assert found.config != BASE, "what is right in the file counts all the same"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ceilling = 3", "config.toml, line 1: ceilling = 3: there is no such key, did you mean ceiling?"),
        ("nice = 1\nmax-runtime = 3", "config.toml, line 2: max-runtime = 3: there is no such key, did you mean max_runtime?"),
        ('\n"frob" = [1]', "config.toml, line 2: frob = [1]: there is no such key, `slothtray config` shows them all"),
        ("x = 1\ny = 2\nnice = 99", "config.toml, line 1: x = 1: there is no such key, `slothtray config` shows them all (and 2 more)"),
        ("\n\n[gates]\nceiling = 3", "config.toml, line 3: gates: there are no sections and no tables here"),
        ("\n[[gates]]\nceiling = 3", "config.toml, line 2: gates: there are no sections and no tables here"),
        ("ceiling.most = 3", "config.toml, line 1: ceiling: there are no sections and no tables here"),
        ('x = """\nnice = 1\n"""\nnice = "1"', 'config.toml, line 1: x = "nice = 1 ↵ ": there is no such key, `slothtray config` shows them all (and 1 more)'),
        ('keep_env = [\n"nice = 3",\n]\nnice = "3"', 'config.toml, line 1: keep_env = ["nice = 3"]: use a list of names of variables, such as ["GITHUB_TOKEN"] (and 1 more)'),
        ("keep_env = [\n'B',\n]\r\n\r\nnice = '3'", 'config.toml, line 5: nice = "3": use a whole number from 0 to 19'),
        ("\ufeffnice = 1\nnise = 2", "config.toml, line 2: nise = 2: there is no such key, did you mean nice?"),
    ],
)
def test_the_line_that_is_told_is_the_line_of_the_key(text, said):
    assert problem(text) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\nceiling = off # never mind", 'config.toml, line 2: ceiling = off: put quotes around it, as in "off"'),
        ("interval = 15s", 'config.toml, line 1: interval = 15s: put quotes around it, as in "15s"'),
        ("nice 3", "config.toml, line 1: nice 3: expected '=' after a key in a key/value pair"),
        ("nice = 3\ncooldown = soon\n", "config.toml, line 2: cooldown = soon: invalid value"),
        ('notify_on = ["failed"\n', "config.toml, line 1: notify_on = [\"failed\": unclosed array"),
        ("nice = 1\n\nnice = 2\n", "config.toml, line 3: nice = 2: it has a value already, further up"),
        ('ceiling = "\x1b[31m"', "config.toml, line 1: ceiling = \"␛[31m\": illegal character '\\x1b'"),
        ("a = " + "[" * 50_000, "config.toml: a number has too many digits, or brackets are nested too deep"),
        ("a = " + "[" * 400 + "]" * 400 + "\nb = = 1", "config.toml, line 2: b = = 1: invalid value"),
        ("a = " + "9" * 5_000, "config.toml: a number has too many digits, or brackets are nested too deep"),
    ],
)
def test_what_is_no_toml_is_told_with_its_line(text, said):
    assert parse(text, BASE) == (BASE, {}, said)


# --- the text, changed -------------------------------------------------------------------------------------------------

NUMBERS = st.floats(min_value=0.01, max_value=1e6).map(repr) | st.integers(1, 1000).map(str)
DURATIONS = st.tuples(st.integers(1, 900), st.sampled_from(["", "s", "m", "h", "d"])).map(lambda two: f"{two[0]}{two[1]}")
TIMES = st.tuples(st.integers(0, 23), st.integers(0, 59)).map(lambda two: f"{two[0]:02}:{two[1]:02}")
VARIABLES = st.text(st.characters(categories=["L", "N", "P", "S"], exclude_characters="=,'\"[]"), min_size=1, max_size=8)
TYPED = {
    **dict.fromkeys(KEYS, DURATIONS),
    "ceiling": NUMBERS | st.sampled_from(["auto", "off"]),
    "attempts": st.integers(1, 1000).map(str),
    "max_runtime": DURATIONS | st.just("none"),
    "nice": st.integers(0, 19).map(str),
    "log_cap": st.integers(1, 999).map("{}MB".format) | st.integers(100_000, 10**12).map(str),
    "prune_after": st.integers(1, 99).map("{}d".format) | st.just("never"),
    "notify_on": st.lists(st.sampled_from(["failed", "held", "done", "retry", "empty"]), unique=True).map(",".join),
    "quiet_hours": st.lists(TIMES, min_size=2, max_size=2, unique=True).map("-".join) | st.just("none"),
    "keep_env": st.lists(VARIABLES, unique=True, max_size=4).map(",".join),
}
CHANGES = st.lists(st.sampled_from(sorted(KEYS)).flatmap(lambda key: st.tuples(st.just(key), st.none() | TYPED[key])), max_size=8)


@settings(max_examples=300, deadline=None)
@given(CHANGES, st.sampled_from(["template", "crlf", "empty", "one line without its end"]))
def test_what_is_set_is_read_back_and_what_is_unset_leaves_no_trace(changes, start):
    text = {
        "template": editing.template(),
        "crlf": editing.template().replace("\n", "\r\n"),
        "empty": "",
        "one line without its end": "# only this",
    }[start]
    expected = {}
    begun = text
    for key, typed in changes:
        if typed is None:
            text = editing.without_key(text, key)
            expected.pop(key, None)
            continue
        expected[key] = editing.value_of(key, typed)
        text = editing.with_key(text, key, expected[key])
        found = parse(text, BASE)
        assert (found.written, found.problem) == (expected, "")
        assert editing.value_of(key, as_words(found.written[key])) == expected[key], "`get` gives what `set` takes"
        assert len(text.replace("\r\n", "").splitlines()) <= 1 or "\r" not in begun, "line ends are those of the file"
    for key in expected:
        text = editing.without_key(text, key)
    assert text == begun or text == begun + "\n"


WRITTEN = '''\
# my own words, ä — and a tab:\there
  ceiling=2 # because # of "reasons"
"nice" = 3
notify_on = [ # both
  "failed",   # this
  "held", ]   # and this

keep_env = ["A # B"] # odd
#interval = "15s"
# the end'''


@pytest.mark.parametrize(
    ("key", "value", "before", "after"),
    [
        ("ceiling", "off", '  ceiling=2 # because # of "reasons"\n', '  ceiling = "off" # because # of "reasons"\n'),
        ("nice", 4, '"nice" = 3\n', "nice = 4\n"),
        ("notify_on", ["done"], 'notify_on = [ # both\n  "failed",   # this\n  "held", ]   # and this\n', 'notify_on = ["done"]   # and this\n'),
        ("keep_env", ["C"], 'keep_env = ["A # B"] # odd\n', 'keep_env = ["C"] # odd\n'),
        ("interval", "5s", '#interval = "15s"\n', '#interval = "15s"\ninterval = "5s"\n'),
        ("cooldown", 0, "# the end", "# the end\ncooldown = 0\n"),
    ],
)
def test_set_changes_its_own_lines_and_no_other_byte(key, value, before, after):
    assert WRITTEN.count(before) == 1
    assert editing.with_key(WRITTEN, key, value) == WRITTEN.replace(before, after)


def test_a_key_inside_a_text_or_a_section_or_a_comment_is_not_taken_for_the_key():
    assert editing.without_key("[x]\nnice = 3\n", "nice") == "[x]\nnice = 3\n"
    text = 'keep_env = ["""\nnice = 3\n"""]\n# nice = 5\n'
    assert editing.with_key(text, "nice", 4) == text.replace("# nice = 5\n", "# nice = 5\nnice = 4\n")
    assert editing.without_key(text, "nice") == text


@pytest.mark.parametrize(
    ("key", "typed", "value"),
    [
        ("ceiling", "2", 2),
        ("ceiling", " auto ", "auto"),
        ("interval", '"15s"', "15s"),
        ("notify_on", '["failed", "done"]', ["failed", "done"]),
        ("notify_on", "", []),
        ("keep_env", "A, B,", ["A", "B"]),
    ],
)
def test_a_value_is_typed_in_words_or_as_it_stands_in_the_file(key, typed, value):
    assert editing.value_of(key, typed) == value


@pytest.mark.parametrize(("key", "typed"), [("interval", '5s"\nnice = "3'), ("keep_env", "A\nB"), ("quiet_hours", "22:00\n-07:00\x1b")])
def test_no_value_can_smuggle_in_another_line(key, typed):
    try:
        value = editing.value_of(key, typed)
    except Usage:
        return
    assert parse(editing.with_key("", key, value), BASE).written == {key: value}
    assert editing.with_key("", key, value).count("\n") == 1
