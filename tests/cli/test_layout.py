"""The layout of tables: nothing is cut, and lines fit the terminal."""

from hypothesis import given, settings
from hypothesis import strategies as st

from cmab_gym.cli.layout import table_lines, wrapped
from cmab_gym.text import display_width, shown

WORDS = st.text("abc日 é", max_size=40).map(shown)
NUMBERS = st.floats(-1e12, 1e12).map("{:,.1f}".format)


def test_a_table_that_fits_is_one_table():
    rows = [("ucb", "1,234.5", "yes"), ("my agent", "-2.0", "no")]
    assert list(table_lines(("agent", "regret", "best"), rows, ["agent"], 80)) == [
        "agent      regret  best",
        "--------  -------  ----",
        "ucb       1,234.5  yes",
        "my agent     -2.0  no",
    ]


def test_text_wraps_and_other_columns_continue_below():
    rows = [("a long name of an agent", "1,234.5", "12,345.6"), ("ucb", "1.0", "2.0")]
    assert list(table_lines(("agent", "final regret", "rounds/s"), rows, ["agent"], 24)) == [
        "                   final",
        "agent             regret",
        "---------------  -------",
        "a long name of   1,234.5",
        "an agent",
        "ucb                  1.0",
        "",
        "agent           rounds/s",
        "--------------  --------",
        "a long name of  12,345.6",
        "an agent",
        "ucb                  2.0",
    ]


def test_a_table_without_rows_has_its_header():
    assert list(table_lines(("agent", "regret"), [], ["agent"], 80)) == [
        "agent  regret",
        "-----  ------",
    ]


@settings(max_examples=40)
@given(
    rows=st.lists(st.tuples(WORDS, NUMBERS, WORDS, NUMBERS, NUMBERS), min_size=1, max_size=4),
    room=st.integers(40, 120),
)
def test_no_number_is_cut_and_every_line_fits(rows, room):
    header = ("name", "mean reward", "about", "regret", "c-ucb pulls (at most)")
    lines = list(table_lines(header, rows, ("name", "about"), room))
    assert max(map(display_width, lines)) <= room
    words = " ".join(lines).split()
    for row in rows:
        for number in (row[1], row[3], row[4]):
            assert number in words
    written = "".join("".join(lines).split())
    for name, *_ in rows:
        assert all(character in written for character in name if character != " ")


@given(line=WORDS, room=st.integers(2, 50))
def test_wrapped_lines_keep_every_word_in_order(line, room):
    lines = wrapped(line, room)
    assert all(display_width(each) <= room for each in lines)
    assert "".join(lines).replace(" ", "") == line.replace(" ", "")
    whole = wrapped(line, room, fold=False)
    assert " ".join(whole).split() == line.split()
