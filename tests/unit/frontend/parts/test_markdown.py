"""Cards are strangers' text: nothing in them runs, and nothing is fetched from elsewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from frontend.parts.markdown import LONGEST_CARD, is_blank, render
from frontend.parts.page_cache import Memory
from hub.protocol import problems
from registry.core import parsing

FILES = "/models/lab/net/v/3/files/"


ALLOWED = {
    "a": {"href", "title", "rel", "id"},
    "li": {"class", "id"},
    "blockquote": {"class"},
    "button": {"type", "class", "data-copy", "aria-label", "hidden"},
    "svg": {"class", "aria-hidden", "focusable"},
    "use": {"href"},
    "math": {"display"},
    "mo": {"stretchy"},
    "img": {"src", "alt", "title", "width", "height", "loading"},
    "ol": {"start"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan"},
    "abbr": {"title"},
    "details": {"open"},
    "span": {"class"},
    "div": {"class", "role", "tabindex", "aria-label"},
    **{f"h{level}": {"id"} for level in range(3, 7)},
}


def card(text, *paths):
    return str(render(text, FILES, frozenset(paths)))


@pytest.mark.parametrize(
    ("text", "blank"),
    [
        ("", True),
        ("# net", True),
        ("# net\n\n## Use\n", True),
        ("# net\n\nIt tells digits apart.\n", False),
        ("# net\n\n![Digits](digits.png)\n", False),
        ("# net\n\n- one\n", False),
    ],
)
def test_a_card_of_headings_alone_is_blank(text, blank):
    assert is_blank(render(text, FILES, frozenset({"digits.png"}))) is blank


class Strict(HTMLParser):
    """Reads a result as a browser does: every element closed in order, known attributes alone."""

    def __init__(self, html):
        super().__init__()
        self.open = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert {name for name, _ in attrs} <= ALLOWED.get(tag, set()), (tag, attrs)
        if tag not in {"br", "hr", "img"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


ATTACK = "onmouseover=alert(1) style=position:fixed x="
# Headings that hold headings, which Markdown cannot write and HTML can.
HEADINGS = [
    f"<h1> {ATTACK}<b><h2>x</h2></b></h1>",
    f"<h1> {ATTACK}<b><i><u><h2>x</h2></u></i></b> {ATTACK}</h1>",
    f"<h1> {ATTACK}<b><h2> {ATTACK}<i><h3>x</h3></i></h2></b></h1>",
    f"<h1> {ATTACK}<b><h2>x",
    f"<h1> {ATTACK}<span><h2>x</h1></h2></span>",
    f"<h1> {ATTACK}<table><tr><td><h2>x</h2></td></tr></table></h1>",
    f"<table><tr><th> {ATTACK}<table><tr><th></th></tr></table></th></tr></table>",
    f"<table><tr><td><h1> {ATTACK}<b><h2>x</h2></b></td></tr></table>",
    f"- <h1> {ATTACK}<em><h2>x</h2></em>\n- </h1></h2>",
    f"<ul><li><h1> {ATTACK}<a href='#x'><h2>x</h2></a></h1></li></ul>",
    f"# <b>\n{ATTACK}\n\n## x\n\n</b>",
]


@pytest.mark.parametrize(
    "attack",
    [
        "<script>alert(1)</script>",
        '<img src=x onerror="alert(1)">',
        '<a href="javascript:alert(1)">x</a>',
        '<a href="data:text/html;base64,PHNjcmlwdD4=">x</a>',
        '<a href=" DATA:text/html,x">x</a>',
        '<a href="vbscript:alert">x</a>',
        '<img src="data:image/svg+xml,<svg onload=alert(1)>">',
        "<a href='#x' title='x\" onmouseover=\"alert(1)'>x</a>",
        "<abbr title='x&quot; onmouseover=&quot;alert(1)'>x</abbr>",
        "[x](javascript:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](vbscript:alert)",
        '<svg onload="alert(1)"><a xlink:href="javascript:alert(1)"></a></svg>',
        '<iframe src="/account/tokens"></iframe>',
        '<form action="/logout"><button>x</button></form>',
        '<style>body{display:none}</style><p style="position:fixed">x</p>',
        "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
        '<details open ontoggle="alert(1)">x</details>',
        '<base href="//evil.example/">',
        '<meta http-equiv="refresh" content="0;url=//evil.example">',
        '<a href="&#106;avascript:alert(1)">x</a>',
        '`<img src=x onerror="alert(1)">`',
        '```html"><script>\n<b onclick="alert(1)">\n```',
        '<span class="k menu">x</span>',
        '# <img src=x onerror="alert(1)"> "><script>',
        '![" onload="alert(1)](https://evil.example/p.png)',
        '![x](https://evil.example/"onmouseover="alert)',
        *HEADINGS,
    ],
)
def test_nothing_runs(attack):
    html = card(attack)
    Strict(html)
    html = re.sub(r'<button type="button" class="copy bare".*?</button>', "", html)
    inside_tags = " ".join(re.findall(r"<[^>]*>", html))
    assert not re.search(r"\son\w+\s*=", re.sub(r'"[^"]*"', '""', inside_tags))
    assert not re.search(r"<(script|style|iframe|form|svg|math|base|meta|object|embed)", html)
    assert not re.search(r'(href|src)="\s*(javascript|data|vbscript):', html, re.IGNORECASE)
    assert "style=" not in inside_tags
    assert 'class="k menu"' not in html


@pytest.mark.parametrize(
    "formula",
    [
        r"\href{javascript:alert(1)}{x}",
        r"\style{position:fixed}{x}",
        r"\class{menu}{x}",
        r"\text{<script>alert(1)</script>}",
        r"\color{red;}{x}",
        "\\" * 300,
        "{" * 900,
        r"\frac{" * 150,
        "x" * 2_000,
    ],
)
def test_formulas_bring_no_links_styles_or_elements(formula):
    html = card(f"a ${formula}$ b")
    assert not re.search(r"<(script|mstyle [^>]|a|style)", html)
    assert not re.search(r"\s(href|style|class|on\w+)=", html)


def test_formulas_are_mathml():
    formula = "<mrow><msup><mi>x</mi><mn>2</mn></msup></mrow>"
    assert card("so $x^2$ is") == f'<p>so <math display="inline">{formula}</math> is</p>\n'
    for block in ("$$\nx^2\n$$", "```math\nx^2\n```", "a $$x^2$$ b"):
        assert '<math display="block"><mrow><msup>' in card(block)
    assert card("It costs $5 or $6.") == "<p>It costs $5 or $6.</p>\n"
    assert card("`$x$`") == "<p><code>$x$</code></p>\n"
    assert "<code>\\frac{</code>" in card(r"$\frac{$")


def test_text_of_a_card_is_never_a_mark_of_the_parser():
    html = card("$x$ \ue002 &#xe002; ![&#xe002;](p.png) formula0x formulax0x", "p.png")
    assert html.count("<math") == 1
    assert "<button" not in html


def test_tasks_footnotes_and_notes():
    html = card(
        "- [x] done\n- [ ] open\n\n> [!WARNING]\n> Hot *stove*.\n\nSee[^1].\n\n"
        "[^1]: A book.\n\n> plain\n\n> [!UNKNOWN]\n> x\n"
    )
    Strict(html)
    assert '<li class="task">\N{BALLOT BOX WITH CHECK} done</li>' in html
    assert '<li class="task">\N{BALLOT BOX} open</li>' in html
    assert '<blockquote class="note part">' in html
    assert "<strong>Warning</strong><br>" in html
    assert "[!WARNING]" not in html
    assert html.count("<blockquote>") == 2
    assert re.search(r'<a href="#card-fn1" [^>]*id="card-fnref1"', html)
    assert '<li id="card-fn1">' in html
    assert re.search(r'<a href="#card-fnref1"', html)


def test_anchors_of_strangers_stay_apart():
    html = card('# fn1\n\n<a id="main">x</a><a id="fn1" href="#fn1">y</a>')
    assert re.findall(r'id="([^"]*)"', html) == ["card-fn1"]


def test_code_has_one_button_to_copy():
    html = card("```python\nx = 1\n```\n\n<pre><pre>y</pre></pre>")
    Strict(html)
    assert html.count("data-copy") == html.count('<div class="code">') == 2


def test_long_cards_begin_with_their_contents():
    parts = "".join(f"## Part {n} *x*\n\n{'word ' * 150}\n\n" for n in range(5))
    html = card(f"# Title\n\n{parts}")
    Strict(html)
    assert html.startswith("<details><summary>Contents</summary><ul><li>")
    assert '<li><a href="#card-part-4-x">Part 4 x</a></li>' in html
    assert "Title</a>" not in html
    assert "Contents" not in card("# Title\n\n## A\n\n## B\n\n## C\n\n## D\n")


def test_outside_picture_becomes_a_link():
    html = card("![A cat](https://pictures.example/cat.png)")
    assert "<img" not in html
    assert 'href="https://pictures.example/cat.png"' in html
    assert "A cat (picture on pictures.example)" in html
    assert "<img" not in card('<img src="//pictures.example/cat.png" alt="A cat">')


def test_picture_of_the_version_is_shown_from_the_version():
    html = card("![A cat](img/a%20cat.png)", "img/a cat.png")
    assert f'src="{FILES}img/a%20cat.png"' in html
    assert 'alt="A cat"' in html


def test_picture_that_the_version_lacks_is_its_words():
    assert card("![A cat](cat.png)") == "<p>A cat</p>\n"


def test_relative_links_stay_inside_the_version():
    assert f'href="{FILES}labels.txt"' in card("[labels](labels.txt)")
    assert f'href="{FILES}a/b.txt"' in card("[b](./a/x/../b.txt)")
    assert FILES not in card("[out](../../../../account)")


def test_links_elsewhere_pass_no_credit():
    assert 'rel="nofollow noopener ugc"' in card("[x](https://example.com)")


def test_headings_are_below_the_page_and_skip_no_level():
    html = card("# A\n### B\n# C\n## D\n###### E")
    assert re.findall(r"<(h\d) id=\"([^\"]+)\"", html) == [
        ("h3", "card-a"),
        ("h4", "card-b"),
        ("h3", "card-c"),
        ("h4", "card-d"),
        ("h5", "card-e"),
    ]


def test_headings_in_headings_keep_their_own_anchors():
    html = card("<h1>A <b><h2>x</h2></b></h1>")
    assert html == '<h3 id="card-a-x">A <b><h4 id="card-x">x</h4></b></h3>'


def test_anchors_differ_and_are_found_by_links():
    html = card("[go](#How-it-was-made)\n\n## How it was made\n\n## How it was made")
    assert 'href="#card-how-it-was-made"' in html
    assert 'id="card-how-it-was-made"' in html
    assert 'id="card-how-it-was-made-2"' in html


def test_front_matter_is_not_shown():
    assert card("---\nlicense: mit\n---\n\nText").lstrip() == "<p>Text</p>\n"


def test_code_is_coloured_by_classes_alone():
    html = card("```python\nimport hub\n```")
    assert '<span class="kn">import</span>' in html


def test_tables_scroll_in_a_named_region():
    html = card("|a|b|\n|-|-|\n|1|2|")
    assert 'role="region" tabindex="0" aria-label="Table 1 of the card"' in html
    assert html.count("<div") == html.count("</div>") == 1


def test_header_without_words_is_a_plain_cell():
    html = card("||b|\n|-|-|\n|1|2|")
    assert "<td></td>" in html
    assert "<th>b</th>" in html


def test_a_huge_card_is_cut():
    assert len(card("a " * LONGEST_CARD)) < LONGEST_CARD + 100


@pytest.mark.parametrize("piece", ["<h1>a<b>", "<x>", "<div title='1'>", "<b></i>"])
def test_html_that_only_opens_is_shown_as_text(piece):
    shown = render(piece * 30_000, FILES)
    assert shown.startswith("<p>This card is shown as plain text. Its HTML is nested too deep")
    assert "<b>" not in shown
    assert "&lt;" in shown


def test_many_elements_side_by_side_are_a_page():
    card = "<details><summary>More</summary><p>One<p>Two<ul><li>a<li>b</ul></details>\n" * 1000
    assert render(card, FILES).count("<details>") == 1000


def test_a_card_that_takes_too_long_is_shown_as_text(settings):
    settings.HUB_TEXT_SECONDS = 1
    text = "![" * 200_000
    assert render(text, FILES) == (
        f"<p>This card is shown as plain text. It takes too long to render.</p><pre>{text}</pre>"
    )


def test_a_card_is_text_while_every_process_is_busy_and_a_page_afterwards(monkeypatch):
    def refuse(*_arguments, **_options):
        raise problems.Unavailable

    with monkeypatch.context() as busy:
        busy.setattr(parsing, "run", refuse)
        shown = render("# busy", "/busy/")
        assert shown.startswith("<p>This card is shown as plain text. The renderer is busy")
        assert shown.endswith("<pre># busy</pre>")
    assert render("# busy", "/busy/") == '<h3 id="card-busy">busy</h3>\n'


def test_a_card_is_rendered_once(monkeypatch):
    shown = render("# once", "/once/", frozenset({"a.png"}))
    monkeypatch.setattr(parsing, "run", None)
    assert render("# once", "/once/", frozenset({"a.png"})) is not None
    assert render("# once", "/once/", frozenset({"a.png"})) == shown


def test_pages_are_remembered_while_there_is_room():
    memory = Memory(10)
    memory.put("a", "12345")
    memory.put("b", "12345")
    assert memory.get("a") == "12345"
    memory.put("c", "1")
    assert (memory.get("a"), memory.get("b"), memory.get("c")) == ("12345", None, "1")
    memory.put("d", "x" * 11)
    assert [memory.get(key) for key in "abcd"] == [None] * 4
