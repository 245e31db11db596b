"""Names that could disturb a terminal, a table or a picture."""

HOSTILE = (
    "[bold red]x[/] & <b>]]> -- \\",  # markup
    '=HYPERLINK("http://x")',  # a formula of spreadsheets
    "Ba$$in $x$ \\$ _{2}",  # mathematics for Matplotlib
    "_hidden",  # a label that Matplotlib leaves out of legends
    "\u202eright to left\u2066",
    "שלום עולם",
    "عربي 123",
    "😀 \U0001f468\u200d\U0001f469\u200d\U0001f467 ﷽ 日本語",
    "n" * 500,
    "a\x1b[2J\x1b]0;t\x07b\x9b1mc\x00\r\ud800\ufffe",  # control codes
    "line\nbreak\ttab\u2028\x0b\x85end",
    "Café \xa0 \xad",
    "",
)
