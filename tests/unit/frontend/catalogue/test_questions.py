"""Questions in words on the list of models and in the API: what they become, and what is shown."""

from __future__ import annotations

import re
from html import unescape

import pytest

from tests import factories, shared, shelf

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]
TEXT = "fast image classifier under 20 MB"
TASK, SIZE = "task=image-classification", "max_bytes=20000000"
ADDRESS = f"/models?{TASK}&{SIZE}&sort=fastest&question=fast+image+classifier+under+20+MB"


@shared.rows
def start():
    ada = factories.somebody("ada")
    shelf.publish(ada, "digits", pipeline_tag="image-classification")
    shelf.publish(ada, "wine", pipeline_tag="tabular-classification")
    shelf.publish(ada, "fast-rcnn", pipeline_tag="object-detection")
    return ada


@pytest.fixture
def three(start, db):
    return shared.fresh(start)


def names(html):
    return set(re.findall(r'name="m" value="ada/([^"]+)"', html))


def chips(html):
    links = re.findall(r'class="chip"\s+href="([^"]*)" aria-label="Remove ([^"]*)"', html)
    return {words: unescape(link) for link, words in links}


def test_a_question_leads_to_the_address_of_its_filters(guest, three):
    answer = guest.get("/models", {"q": TEXT})
    assert (answer.status_code, answer["Location"]) == (302, ADDRESS)
    html = guest.page(ADDRESS)
    assert names(html) == {"digits"}
    assert chips(html) == {
        "filter Task: Image classification": f"/models?{SIZE}&sort=fastest",
        "filter Maximum size: 20\N{NARROW NO-BREAK SPACE}MB": f"/models?{TASK}&sort=fastest",
        "Sort: Fastest on the chosen device": f"/models?{TASK}&{SIZE}",
    }
    assert "Understood as" in html
    literal = unescape(re.search(r'<a href="([^"]*)">Search for these words as text', html)[1])
    assert literal == "/models?q=%22fast+image+classifier+under+20+MB%22"
    assert "Understood as" not in guest.page(literal)


def test_a_name_is_searched_for(guest, three):
    html = guest.page("/models?q=fast-rcnn")
    assert names(html) == {"fast-rcnn"}
    assert "Understood as" not in html


def test_what_is_not_used_is_said(guest, three):
    html = guest.page("/models?task=image-classification&question=accurate+image+classifiers")
    assert "“accurate” was not used. The order by accuracy needs a limit of it" in html


@pytest.mark.parametrize("page", ["/models", "/find"])
@pytest.mark.parametrize("question", ["nothing of this", "image classifier under 20 MB"])
def test_a_question_that_no_filter_came_of_leaves_the_address(page, question, guest, three):
    """Also one whose filters were all removed."""
    answer = guest.get(page, {"question": question})
    assert answer["Location"] == page


def test_a_choice_made_before_stays(guest, three):
    answer = guest.get("/models?license=mit&max_bytes=5&q=image+classifier+under+20+MB")
    assert answer["Location"].startswith(
        "/models?task=image-classification&license=mit&max_bytes=5&"
    )


def test_the_api_reads_a_question_where_it_is_asked_to(api, three):
    plain = api().get("models?q=image classifier under 20 MB").json()
    assert (plain["count"], "understood" in plain) == (0, False)
    found = api().get("models?understand=true&q=image classifier under 20 MB wine").json()
    assert found["understood"] == {
        "parts": [
            {
                "words": "image classifier",
                "parameter": "task",
                "value": "image-classification",
            },
            {"words": "under 20 MB", "parameter": "max_bytes", "value": "20000000"},
        ],
        "unused": [],
        "text": "wine",
    }
    assert found["items"] == []
    found = api().get("models?understand=true&q=image classifier under 20 MB").json()
    assert [item["ref"] for item in found["items"]] == ["ada/digits"]
    wider = api().get("models?understand=true&max_bytes=1&q=image classifier under 20 MB").json()
    assert wider["items"] == []
    named = api().get("models?understand=true&q=fast-rcnn").json()
    assert [item["ref"] for item in named["items"]] == ["ada/fast-rcnn"]
    assert named["understood"] == {"parts": [], "unused": [], "text": "fast-rcnn"}


def test_the_api_filters_by_the_exact_opset(api, three):
    assert api().get("models?opset=3").json()["items"] == []
