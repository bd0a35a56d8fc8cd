"""Templates of plain text, such as code: nothing is escaped but by the filters named here.

A line of nothing but tags leaves no line in the text.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from django import template
from django.template import Engine, Origin
from django.template.loaders import app_directories

# Names of strangers are cut in comments, so that a line stays one that people read.
LONGEST_COMMENT = 200
_TAG = r"\{%(?:(?!%\})[^\n])*%\}"
_LINE_OF_TAGS = re.compile(rf"^[ ]*({_TAG}(?:[ ]*{_TAG})*)\n", re.MULTILINE)

register = template.Library()


@register.filter
def python(value: object) -> str:
    """A value as Python writes it."""
    return repr(value)


@register.filter("json")
def as_json(value: object) -> str:
    """A value as JSON, and thus JavaScript, writes it; a string is one of C# and Java too."""
    return json.dumps(value)


@register.filter
def comment(words: str) -> str:
    """Words that end no comment: without line breaks, and not longer than a line."""
    return "".join(filter(str.isprintable, " ".join(words.split())))[:LONGEST_COMMENT]


@register.filter
def shell(url: str) -> str:
    """An address as a word of a shell; it is percent-encoded, so it has no double quotes."""
    return f"'{url}'" if any(character in url for character in "&()';*?!~$") else url


class Loader(app_directories.Loader):
    """Templates from the folders of the apps, without the ends of lines of tags."""

    def get_contents(self, origin: Origin) -> str:
        """Give the template as it is compiled."""
        return _LINE_OF_TAGS.sub(r"\1", super().get_contents(origin))


@cache
def _engine() -> Engine:
    loader = f"{__name__}.Loader"
    return Engine(
        autoescape=False,
        loaders=[("django.template.loaders.cached.Loader", [loader])],
        builtins=[__name__],
    )


def render(name: str, **values: Any) -> str:
    """The text of a template with these values."""
    # Django marks what it renders as safe HTML; with a text added it is text, which pages escape.
    return _engine().render_to_string(name, values) + ""
