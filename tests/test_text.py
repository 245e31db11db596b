"""Any text becomes one line that cannot disturb the text around it."""

import io
import unicodedata

import pytest
from hostile import HOSTILE
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from cmab_gym.text import display_width, drawn, encodable, shown, write

ANY_TEXT = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=())))
INVISIBLE = "\u200c\u200d\u200e"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("plain", "plain"),
        (12.5, "12.5"),
        ("a\x1b[2J\x9b\x00b", "a\ufffd[2J\ufffd\ufffdb"),
        ("a\nb\tc\rd\u2028e\xa0f", "a b c d e f"),
        ("\u202eevil\ufeff", "\ufffdevil\ufffd"),
        ("א 1", "\u200eא 1\u200e"),
        ("א\u200cב", "\u200eא\u200cב\u200e"),
        ("日本 \ud800", "日本 \ufffd"),
    ],
)
def test_unsafe_characters_are_replaced(text, line):
    assert shown(text) == line


@given(text=ANY_TEXT, most=st.none() | st.integers(1, 40))
def test_any_text_becomes_one_harmless_line(text, most):
    line = shown(text, most=most)
    assert all(each.isprintable() or each in INVISIBLE for each in line)
    assert not any(unicodedata.bidirectional(each) in ("RLO", "LRO", "RLI") for each in line)
    assert shown(line) == line
    assert most is None or display_width(line) <= most


@pytest.mark.parametrize(
    ("encoding", "line"),
    [("utf-8", "Café 日"), ("cp1252", "Café ?"), ("ascii", "Caf? ?"), (None, "Café 日")],
)
def test_what_an_encoding_lacks_is_replaced(encoding, line):
    stream = io.TextIOWrapper(io.BytesIO(), encoding) if encoding else io.StringIO()
    assert shown("Café 日", encodable(stream)) == line
    cut = "~" if encoding == "ascii" else "…"
    assert shown("Forrest Gump", encodable(stream), most=8) == f"Forrest{cut}"


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "cp1255", "ascii"])
def test_every_text_can_be_written_in_every_encoding(encoding):
    stream = io.TextIOWrapper(io.BytesIO(), encoding, newline="\n")
    for text in HOSTILE:
        write(f"{text.splitlines()[0] if text else ''}\nsecond", stream)
    lines = stream.buffer.getvalue().decode(encoding).split("\n")
    assert lines[1::2] == ["second"] * len(HOSTILE)
    assert not set("".join(lines)) & {"\x1b", "\x00", "\x07", "\r", "\x9b", "\u202e"}


def test_wide_characters_take_two_columns():
    assert [display_width(text) for text in ("ab", "日本", "é", "e\u0301", "😀")] == [2, 4, 1, 1, 2]
    assert shown("日本語", most=4) == "日…"


@pytest.mark.parametrize("text", HOSTILE)
def test_matplotlib_draws_any_text_literally(text):
    figure = Figure()
    canvas = FigureCanvasAgg(figure)
    label = figure.text(0.1, 0.5, drawn(text))
    canvas.draw()  # warnings, such as those of missing glyphs, are errors in the tests
    literal, is_mathematics = label._preprocess_math(label.get_text())
    assert not is_mathematics
    assert literal.count("$") == text.count("$")


def test_a_plain_text_is_drawn_as_it_is():
    assert drawn("c-ucb(B=5) Café") == "c-ucb(B=5) Café"
    assert drawn("日本") == "\ufffd\ufffd"
    assert drawn("Forrest Gump", most=8) == "Forrest…"
