"""Values and keyword arguments, read from text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cmab_gym.literals import read_keywords, read_value

DEEP = ["-" * 100_000 + "1", "(" * 5000, "[" * 5000 + "]" * 5000, "1" + "+1" * 50_000, "9" * 5000]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.4", 0.4),
        ("1e-3", 1e-3),
        ("-2", -2),
        ("True", True),
        ("true", True),
        ("null", None),
        ("[[0.1, 0.2], [0.3, 0.4]]", [[0.1, 0.2], [0.3, 0.4]]),
        ("(0, 6)", (0, 6)),
        ("'5'", "5"),
        ("movie", "movie"),
        ("off", "off"),
        ("007", "007"),
        ("2024-01-02", "2024-01-02"),
        ("12:30", "12:30"),
        ("b'x'", "b'x'"),
        ("...", "..."),
        ("{[]}", "{[]}"),  # a set of a list: Python raises a TypeError
        ("{[]: 1}", "{[]: 1}"),
        ("1j", "1j"),
        ("CMAB-Tabular-v0", "CMAB-Tabular-v0"),
        (r"'C:\d'", r"C:\d"),
        ("a\0b", "a\0b"),
        *((text, text) for text in DEEP),
    ],
)
def test_a_value_is_a_literal_or_its_text(text, value):
    read = read_value(text)
    assert (read, type(read)) == (value, type(value))


@settings(max_examples=30)
@given(value=st.lists(st.integers() | st.floats(-1e9, 1e9) | st.text() | st.none(), max_size=5))
def test_the_repr_of_a_value_is_read_as_the_value(value):
    assert read_value(repr(value)) == value


@pytest.mark.parametrize(
    ("text", "keywords"),
    [
        ("", {}),
        ("B=5", {"B": 5}),
        ("B=5, beta=-0.5,", {"B": 5, "beta": -0.5}),
        ("settings=default, greedy=true", {"settings": "default", "greedy": True}),
        ("a='x, y', b=[1, 2], c=None", {"a": "x, y", "b": [1, 2], "c": None}),
    ],
)
def test_keyword_arguments_are_read(text, keywords):
    assert read_keywords(text) == keywords


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("B=1, B=2", "B= is given twice"),
        ("B=1/0", "the value of B= is neither a number nor a word"),
        ("B={[]}", "the value of B= is neither"),
        ("B=__import__('os')", "the value of B= is neither"),
        *((each, "expected name") for each in ("5", "B=", "**{'B': 1}", "*[1]", "B=1)(", ")(B=1")),
        *((each, "expected name") for each in DEEP[:4]),
    ],
)
def test_other_text_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        read_keywords(text)
