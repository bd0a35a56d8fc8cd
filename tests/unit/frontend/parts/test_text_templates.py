"""Templates of plain text: lines of tags leave none, and pages have to escape what is rendered."""

from __future__ import annotations

from django.utils.html import escape
from django.utils.safestring import SafeString

from frontend.parts import text_templates
from frontend.presenters.code_snippets import Target

HOSTILE = '"</script>\n<b>'


def rendered(name, **values):
    files = [{"path": "a", "name": "a", "url": "https://hub.example/it's"}]
    target = Target("zoo/net@3", "zoo/net", 3, ("a",), (), "https://hub.example")
    return text_templates.render(name, target=target, files=files, **values)


def test_lines_of_tags_leave_no_lines():
    assert rendered("code/curl.txt") == "curl -fLO 'https://hub.example/it's'\n"
    assert rendered("code/run.txt", remarks=["one", "two"]) == (
        "outputs = session.run(None, {\n    # one\n    # two\n})\n"
    )


def test_what_is_rendered_is_text_that_pages_escape():
    text = rendered("code/run.txt", remarks=[HOSTILE])
    assert HOSTILE in text
    assert not isinstance(text, SafeString)
    assert "<b>" not in escape(text)


def test_names_of_strangers_end_no_comment_and_no_string():
    assert text_templates.comment(f"a\n{HOSTILE}\u202e" + "x" * 300).startswith('a "</script> <b>x')
    assert len(text_templates.comment("x" * 300)) == text_templates.LONGEST_COMMENT
    assert text_templates.as_json(HOSTILE) == '"\\"</script>\\n<b>"'
    assert text_templates.python("a'b\n") == '"a\'b\\n"'
