"""Pages as trees, so that tests ask for elements instead of text."""

from __future__ import annotations

from html.parser import HTMLParser
from xml.etree import ElementTree as ET

_VOID = {"area", "br", "col", "hr", "img", "input", "link", "meta", "path", "rect", "use", "wbr"}


class _Builder(HTMLParser):
    def __init__(self):
        super().__init__()
        self.root = ET.Element("page")
        self.open = [self.root]

    def handle_starttag(self, tag, attrs):
        element = ET.SubElement(self.open[-1], tag, {name: value or "" for name, value in attrs})
        if tag not in _VOID:
            self.open.append(element)

    def handle_startendtag(self, tag, attrs):
        ET.SubElement(self.open[-1], tag, {name: value or "" for name, value in attrs})

    def handle_endtag(self, tag):
        if any(element.tag == tag for element in self.open[1:]):
            while self.open.pop().tag != tag:
                pass

    def handle_data(self, data):
        parent = self.open[-1]
        if len(parent):
            parent[-1].tail = (parent[-1].tail or "") + data
        else:
            parent.text = (parent.text or "") + data


def tree(html):
    """The page as an element tree, for its `find` and `findall`."""
    builder = _Builder()
    builder.feed(html)
    return builder.root


def text(element):
    """What an element says, with single spaces."""
    return " ".join("".join(element.itertext()).split())


def figures(element):
    """Each figure below an element: its status and all that it says."""
    return [
        (one.get("data-status"), text(one)) for one in element.iterfind(".//span[@data-status]")
    ]
