"""The terms of a gate: who asks for the files agrees to a text, which is recorded."""

from __future__ import annotations

import hashlib
import re

import pytest

from registry.models import AccessRequest, Event, RegisteredModel
from tests import factories
from tests.api.versions.test_models import problem

pytestmark = pytest.mark.django_db
PLACE = "models/ada/net/access"
TEXT = "Terms of use\n\nOnly for <b>research</b>."
SHA256 = hashlib.sha256(TEXT.encode()).hexdigest()


def card(prompt):
    words = f"extra_gated_heading: Terms of use\nextra_gated_prompt: {prompt}\nlicense:"
    return factories.CARD.replace("license:", words)


@pytest.fixture
def gated(ada):
    version = factories.published(ada, card=card("Only for <b>research</b>."))
    RegisteredModel.objects.update(gate=RegisteredModel.Gate.MANUAL)
    return version.model


def agreed():
    return [
        (data.get("terms"), data.get("terms_sha256"))
        for data in Event.objects.filter(verb="access.asked").values_list("data", flat=True)
    ]


def test_the_event_has_the_text_and_its_digest(api, bob, gated):
    told = api(bob).get(PLACE).json()
    assert (told["terms"], told["terms_sha256"]) == (TEXT, SHA256)
    assert api(bob).post(PLACE, {"terms_sha256": SHA256}).status_code == 200
    assert agreed() == [(TEXT, SHA256)]


def test_without_a_digest_the_terms_are_recorded_too(api, bob, gated):
    assert api(bob).post("/api/models/ada/net/ask-access", {}).status_code == 200
    assert agreed() == [(TEXT, SHA256)]


def test_terms_that_changed_meanwhile_are_read_again(api, client, ada, bob, gated):
    client.force_login(bob)
    page = client.get("/models/ada/net/access").content.decode()
    assert "Only for &lt;b&gt;research&lt;/b&gt;." in page
    [sha256] = re.findall('name="terms" value="([0-9a-f]{64})"', page)
    assert sha256 == SHA256
    factories.published(ada, gated, card=card("Only for teaching."))
    answer = client.post("/models/ada/net/access/ask", {"message": "", "terms": sha256})
    assert answer.status_code == 422
    assert "have changed" in answer.content.decode()
    problem(api(bob).post(PLACE, {"terms_sha256": sha256}), 409, "state-conflict")
    assert not AccessRequest.objects.exists()
    assert agreed() == []


def test_a_card_without_terms_records_none(api, ada, bob):
    factories.published(ada)
    RegisteredModel.objects.update(gate=RegisteredModel.Gate.AUTO)
    assert api(bob).post(PLACE, {}).status_code == 200
    assert agreed() == [(None, None)]
