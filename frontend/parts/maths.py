"""Formulas of cards as MathML, which browsers draw without scripts or fonts of ours.

latex2mathml passes attributes of a formula through, links and styles included: of its result only
elements and attributes of MathML Core that draw are kept.
"""

from __future__ import annotations

from html import escape
from xml.etree import ElementTree as ET

from latex2mathml import converter

LONGEST = 1_000
_NAMESPACE = "{http://www.w3.org/1998/Math/MathML}"
_ELEMENTS = frozenset({
    "math", "menclose", "mfrac", "mi", "mmultiscripts", "mn", "mo", "mover", "mpadded", "mphantom",
    "mprescripts", "mroot", "mrow", "mspace", "msqrt", "mstyle", "msub", "msubsup", "msup",
    "mtable", "mtd", "mtext", "mtr", "munder", "munderover", "none",
})  # fmt: skip
_ATTRIBUTES = {
    "accent": {"true", "false"},
    "columnalign": {"left", "right", "center"},
    "display": {"inline", "block"},
    "displaystyle": {"true", "false"},
    "fence": {"true", "false"},
    "linethickness": {"0"},
    "mathvariant": {"normal", "bold", "italic", "bold-italic", "double-struck", "script"},
    "movablelimits": {"true", "false"},
    "stretchy": {"true", "false"},
}


def markup(formula: str, *, block: bool) -> str:
    """MathML of a formula in LaTeX; the formula as code where it is too long or cannot be read."""
    if len(formula) <= LONGEST:
        try:
            written = converter.convert(formula, display="block" if block else "inline")
            return _drawing(ET.fromstring(written))  # noqa: S314 - the library's output, no entities
        except Exception:  # noqa: BLE001, S110 - a stranger's formula, read by a library
            pass
    return f"<code>{escape(formula)}</code>"


def _drawing(element: ET.Element) -> str:
    name = element.tag.removeprefix(_NAMESPACE)
    inner = escape(element.text or "", quote=False)
    inner += "".join(_drawing(child) + escape(child.tail or "", quote=False) for child in element)
    if name not in _ELEMENTS:
        return inner
    attributes = "".join(
        f' {key}="{value}"'
        for key, value in element.attrib.items()
        if value in _ATTRIBUTES.get(key, ())
    )
    return f"<{name}{attributes}>{inner}</{name}>"
