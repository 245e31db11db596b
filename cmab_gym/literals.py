"""Read values from text: of the command line, of sweep files and of agents' names."""

from __future__ import annotations

import ast
import warnings
from typing import Any

_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}
_VALUES = (bool, int, float, str, list, tuple, dict, type(None))
# Errors of Python's parser, which include those of deeply nested text, and of {[]} and {[]: 1}.
_UNREADABLE = (SyntaxError, ValueError, TypeError, MemoryError, RecursionError)


def read_value(text: str) -> Any:
    """Read a value: a Python literal, or true, false or null; any other text is itself.

    Examples:
        >>> [read_value(text) for text in ("0.5", "[1, 2]", "None", "true", "movie", "007")]
        [0.5, [1, 2], None, True, 'movie', '007']
    """
    if text in _WORDS:
        return _WORDS[text]
    try:
        value = _literal(text)
    except _UNREADABLE:
        return text
    return value if isinstance(value, _VALUES) else text


def read_keywords(text: str) -> dict[str, Any]:
    """Read keyword arguments; a value may also be a single word, as for `read_value`.

    Args:
        text: the arguments, separated by commas.

    Raises:
        ValueError: the text is something else, or gives an argument twice.

    Examples:
        >>> read_keywords("B=5, settings=default")
        {'B': 5, 'settings': 'default'}
    """
    try:
        call = _quietly_parsed(f"f({text})")
    except _UNREADABLE:
        call = None
    if not isinstance(call, ast.Call) or call.args or not isinstance(call.func, ast.Name):
        raise ValueError("expected name(parameter=value, ...)")
    keywords: dict[str, Any] = {}
    for word in call.keywords:
        if word.arg is None:
            raise ValueError("expected name(parameter=value, ...)")
        if word.arg in keywords:
            raise ValueError(f"{word.arg}= is given twice: expected each parameter once")
        keywords[word.arg] = _keyword_value(word.arg, word.value)
    return keywords


def _keyword_value(name: str, node: ast.expr) -> Any:
    if isinstance(node, ast.Name):
        return _WORDS.get(node.id, node.id)
    try:
        return ast.literal_eval(node)
    except _UNREADABLE:
        raise ValueError(
            f"the value of {name}= is neither a number nor a word: put text in quotes"
        ) from None


def _literal(text: str) -> Any:
    return ast.literal_eval(_quietly_parsed(text.strip()))


def _quietly_parsed(text: str) -> ast.expr:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escapes such as \d, which a path may hold
        return ast.parse(text, mode="eval").body
