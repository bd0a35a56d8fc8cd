"""Writing a card on the page of a draft, by form and by text, without scripts."""

from __future__ import annotations

import html as entities
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from registry.cards import cards
from registry.models import Version
from tests import factories

pytestmark = pytest.mark.django_db
DRAFT = "/models/ada/net/v/1/draft"
CARD = """---
# kept
license: mit  # also kept
tags: [a, b]
model-index:
  - name: net
    results:
      - task: {type: image-classification}
        dataset: {type: digits, name: Digits, args: {x: 1}}
        metrics:
          - {type: accuracy, value: 0.9}
          - {type: f1, value: 0.8}
hyperparameters:
  seed: 1
own_field: [1, {a: 2}]
---
# Title
"""
CFF = b"cff-version: 1.2.0\ntitle: My work\nauthors: [{name: Lab}]\n"
_CONTROL = re.compile(
    r'<input type="(?:hidden|text)"[^>]*?name="([^"]+)" value="([^"]*)"'
    r'|<textarea[^>]*name="([^"]+)"[^>]*>\n(.*?)</textarea>'
    r'|<select[^>]*name="([^"]+)"[^>]*>(.*?)</select>',
    re.DOTALL,
)


def fields(page):
    """What a browser would send of the card's form, before anything is typed."""
    form = page[page.index("data-card") :]
    form = form[: form.index("</form>")]
    sent = {}
    for name, value, area, text, select, options in _CONTROL.findall(form):
        if select:
            choice = re.search(r'value="([^"]*)" selected', options)
            sent[select] = choice[1] if choice else ""
        else:
            sent[name or area] = entities.unescape(value or text)
    return sent


def opened(reader):
    return fields(reader.page(f"{DRAFT}?card=form"))


def test_an_untouched_form_changes_nothing(reader, ada):
    factories.draft(ada, card=CARD)
    sent = opened(reader)
    assert sent["model-index-1-metrics-value"] == "0.8"
    response = reader.post(f"{DRAFT}/card", {**sent, "do": "save"})
    assert response["Location"] == f"{DRAFT}?card=form"
    assert Version.objects.get().readme == CARD


def test_the_form_changes_only_the_fields_that_were_touched(reader, ada):
    factories.draft(ada, card=CARD)
    sent = opened(reader) | {"license": "apache-2.0", "model-index-0-metrics-value": "0.95"}
    reader.post(f"{DRAFT}/card", sent)
    readme = Version.objects.get().readme
    assert "# kept\nlicense: apache-2.0  # also kept\ntags: [a, b]\n" in readme
    assert readme.endswith("own_field: [1, {a: 2}]\n---\n# Title\n")
    (result,) = Version.objects.get().card["model-index"][0]["results"]
    assert result["dataset"]["args"] == {"x": 1}
    assert [metric["value"] for metric in result["metrics"]] == [0.95, 0.8]


def test_rows_are_added_filled_and_removed_without_scripts(reader, ada):
    factories.draft(ada, card=CARD)
    page = reader.post(f"{DRAFT}/card", opened(reader) | {"do": "add:training_data"})
    assert page.status_code == 200
    assert Version.objects.get().readme == CARD
    sent = fields(page.content.decode()) | {
        "training_data-0-name": "Digits",
        "training_data-0-rows": "1437",
        "training_data-0-personal_data": "no",
    }
    page = reader.post(f"{DRAFT}/card", sent | {"do": "add:creators"}).content.decode()
    assert "Not saved yet." in page
    sent = fields(page) | {"creators-0-name": "Ada"}
    reader.post(f"{DRAFT}/card", sent | {"do": "save"})
    card = Version.objects.get().card
    assert card["training_data"] == [{"name": "Digits", "rows": 1437, "personal_data": "no"}]
    assert card["creators"] == ["Ada"]
    page = reader.post(f"{DRAFT}/card", opened(reader) | {"do": "remove:training_data:0"})
    reader.post(f"{DRAFT}/card", fields(page.content.decode()) | {"do": "save"})
    assert "training_data" not in Version.objects.get().card


def test_what_is_wrong_in_the_form_stands_beside_its_field(reader, ada):
    factories.draft(ada, card=CARD)
    sent = opened(reader) | {"co2_eq_emissions-emissions": "2 kg", "doi": "nonsense"}
    response = reader.post(f"{DRAFT}/card", sent)
    assert response.status_code == 422
    page = response.content.decode()
    assert "Write grams, digits only: 2000." in page
    assert page.count('aria-invalid="true"') == 2
    assert fields(page)["doi"] == "nonsense"
    assert Version.objects.get().readme == CARD


def test_somebody_elses_change_is_not_lost(reader, ada):
    factories.draft(ada, card=CARD)
    sent = opened(reader) | {"license": "apache-2.0"}
    reader.post(f"{DRAFT}/card", {"card": CARD.replace("mit", "gpl-3.0")})
    response = reader.post(f"{DRAFT}/card", sent)
    assert response.status_code == 412
    page = response.content.decode()
    assert "license: gpl-3.0" in page
    assert Version.objects.get().card["license"] == "gpl-3.0"
    reader.post(f"{DRAFT}/card", fields(page) | {"do": "save"})
    assert Version.objects.get().card["license"] == "apache-2.0"


def test_all_problems_of_a_text_are_listed_with_their_lines(reader, ada):
    factories.draft(ada, card=CARD)
    broken = "---\nlicense: [mit\nlicence: x\ntags: {a: 1}\n---\n"
    page = reader.post(f"{DRAFT}/card", {"card": broken, "do": "check"}).content.decode()
    assert re.findall(r'data-line="(\d+)"', page) == ["2", "3", "4"]
    page = reader.post(f"{DRAFT}/card", {"card": broken, "do": "form"}).content.decode()
    assert "Form unavailable." in page
    assert "license: [mit" in page


def test_a_file_is_read_into_the_text_and_not_saved(reader, ada):
    factories.draft(ada, contents={"CITATION.cff": CFF, "model.onnx": factories.samples.mlp()})
    before = Version.objects.get().readme
    page = reader.page(DRAFT)
    assert 'value="import:CITATION.cff"' in page
    response = reader.post(f"{DRAFT}/card", {"card": before, "do": "import:CITATION.cff"})
    text = fields(response.content.decode())["card"]
    assert cards.check(text).front["citation"] == "Lab. My work."
    assert Version.objects.get().readme == before
    sent = SimpleUploadedFile("emissions.csv", b"duration,emissions\n3600,0.5\n")
    response = reader.post(f"{DRAFT}/card", {"card": before, "do": "import", "import": sent})
    text = fields(response.content.decode())["card"]
    assert cards.check(text).front["co2_eq_emissions"]["emissions"] == 500
    wrong = SimpleUploadedFile("emissions.csv", b"nothing")
    response = reader.post(f"{DRAFT}/card", {"card": "My text", "do": "import", "import": wrong})
    assert response.status_code == 422
    assert fields(response.content.decode())["card"] == "My text"


def test_suggestions_of_the_file_are_taken_only_when_chosen(reader, ada):
    facts = {**factories.FACTS, "metadata": {"model_author": "Ada", "model_license": "MIT"}}
    factories.draft(ada)
    assert "Read model.onnx" in reader.page(DRAFT)
    reader.post(f"{DRAFT}/card", {"card": factories.CARD, "do": "read"})
    assert "Reading model.onnx" in reader.page(DRAFT)
    assert factories.work(facts=facts) == 1
    version = Version.objects.get()
    assert (version.state, version.variants.count(), version.checks.count()) == ("draft", 0, 0)
    page = reader.page(DRAFT)
    assert 'name="take" value="creators" checked' in page
    assert 'name="take" value="license">' in page
    text = {"card": factories.CARD, "do": "take", "take": ["creators"]}
    taken = fields(reader.post(f"{DRAFT}/card", text).content.decode())["card"]
    assert taken == factories.CARD.replace("tiny]\n", "tiny]\ncreators: [Ada]\n")
    assert Version.objects.get().readme == factories.CARD


def test_a_strangers_draft_is_nobody_elses(guest, ada, bob):
    factories.draft(ada)
    guest.force_login(bob)
    assert guest.post(f"{DRAFT}/card", {"card": "x", "do": "check"}).status_code == 404
