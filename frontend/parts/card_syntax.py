"""What cards are written in: CommonMark with tables, footnotes, tasks, notes and formulas.

Formulas leave the parser as marks with a random word, each with its number, and come back as MathML
after the text was sanitised: no text of a card is ever taken for MathML.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.front_matter import front_matter_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

LONGEST_COLOURED = 20_000
MOST_FORMULAS = 500
# As GitHub has them: the class of a note, and its first word.
NOTES = {
    "NOTE": ("note", "Note"),
    "TIP": ("note pass", "Tip"),
    "IMPORTANT": ("note", "Important"),
    "WARNING": ("note part", "Warning"),
    "CAUTION": ("note fail", "Caution"),
}
_NOTE = re.compile(r"\[!([A-Za-z]{3,9})\][ \t]*(?:\n|$)")
TASK = "task"
_BOXES = {"[ ] ": "\N{BALLOT BOX} ", "[x] ": "\N{BALLOT BOX WITH CHECK} "}


def coloured(code: str, language: str, _attributes: str) -> str:
    """The HTML of code in a language that Pygments knows; empty for any other."""
    if len(code) > LONGEST_COLOURED:
        return ""
    try:
        lexer = get_lexer_by_name(language)
    except ClassNotFound:
        return ""
    return str(highlight(code, lexer, HtmlFormatter(nowrap=True)))


@dataclass(slots=True)
class Formulas:
    """The formulas of a card, each with whether it is a block, and what finds their marks."""

    word: str = field(default_factory=lambda: f"formula{secrets.token_hex(8)}x")
    rows: list[tuple[str, bool]] = field(default_factory=list)

    def mark(self, formula: str, *, is_block: bool) -> str:
        """Keep a formula; gives the mark that stands for it, or nothing where there are many."""
        if len(self.rows) >= MOST_FORMULAS:
            return ""
        self.rows.append((formula, is_block))
        return f"{self.word}{len(self.rows) - 1}x"

    def split(self, text: str) -> Iterator[tuple[str, tuple[str, bool] | None]]:
        """Each piece of a text, and the formula after it."""
        parts = re.split(f"{self.word}([0-9]+)x", text)
        for at in range(0, len(parts), 2):
            yield parts[at], self.rows[int(parts[at + 1])] if at + 1 < len(parts) else None


def written(text: str) -> tuple[str, Formulas]:
    """HTML of a card with marks for its formulas, and these."""
    formulas = Formulas()
    html: str = _PARSER.render(text, {"formulas": formulas})
    return html, formulas


def _formula(
    _renderer: object, tokens: Sequence[Token], at: int, _options: OptionsDict, env: EnvType
) -> str:
    token = tokens[at]
    formulas: Formulas = env["formulas"]
    mark = formulas.mark(token.content.strip(), is_block=token.type != "math_inline")
    return f"<p>{mark}</p>\n" if token.type == "math_block" else mark


def _notes_and_tasks(state: StateCore) -> None:
    """Turn quotes that begin with [!NOTE] into notes, items with [x] into tasks."""
    tokens = state.tokens
    for at in range(2, len(tokens)):
        first, token = tokens[at - 2], tokens[at]
        if token.type != "inline" or tokens[at - 1].type != "paragraph_open":
            continue
        if first.type == "blockquote_open":
            _make_note(first, token)
        elif first.type == "list_item_open":
            box = _BOXES.get(token.content[:4].lower())
            if box and token.children and token.children[0].type == "text":
                text = token.children[0]
                text.content = box + text.content[4:]
                first.attrSet("class", TASK)


def _make_note(quote: Token, inline: Token) -> None:
    match = _NOTE.match(inline.content)
    note = NOTES.get(match[1].upper()) if match else None
    if match is None or note is None or not inline.children:
        return
    kind, title = note
    quote.attrSet("class", kind)
    children = inline.children
    breaks = (at for at, child in enumerate(children) if child.type == "softbreak")
    end = next(breaks, len(children) - 1)
    words = Token("text", "", 0, content=title)
    opened, closed = Token("strong_open", "strong", 1), Token("strong_close", "strong", -1)
    inline.children = [opened, words, closed, Token("hardbreak", "br", 0), *children[end + 1 :]]


def _math_fences(state: StateCore) -> None:
    """Make blocks of code in the language `math` formulas, as GitHub does."""
    for token in state.tokens:
        if token.type == "fence" and token.info.strip() == "math":
            token.type = "math_block"


def _parser() -> MarkdownIt:
    options: Any = {"html": True, "highlight": coloured}
    parser = (
        MarkdownIt("commonmark", options)
        .enable(["table", "strikethrough"])
        .use(front_matter_plugin)
        .use(footnote_plugin)
        .use(
            dollarmath_plugin,
            allow_labels=False,
            allow_space=False,
            allow_digits=False,
            double_inline=True,
        )
    )
    for kind in ("math_inline", "math_inline_double", "math_block"):
        parser.add_render_rule(kind, _formula)
    parser.core.ruler.push("notes_and_tasks", _notes_and_tasks)
    parser.core.ruler.push("math_fences", _math_fences)
    return parser


_PARSER = _parser()
