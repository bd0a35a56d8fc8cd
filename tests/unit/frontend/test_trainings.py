"""The pages of trainings: what everybody sees, and what maintainers see and do."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from frontend import trainings
from registry.federated.models import Round, Training
from registry.federated.services import fleets
from registry.models import RegisteredModel
from tests import factories, learning
from tests.conftest import Api
from tests.shared import fresh, rows

pytestmark = pytest.mark.django_db
PAGE = "/models/ada/net/trainings/1"


@rows
def start():
    """A training with two aggregated rounds, the second without what one device sent."""
    ada = factories.user("ada")
    training = learning.training(ada, title="Digits at home", release_every=2)
    code = learning.invited(ada, training)
    devices = [learning.Device(Api, training, code) for _ in range(3)]
    for number in (1, 2):
        for device in devices[: number + 1]:
            device.push(device.task(), learning.tensors())
        learning.work({devices[2].name: "non-finite"})
    return ada, training


@pytest.fixture
def ada(start):
    return fresh(start[0])


def signed_in(user):
    browser = Client()
    browser.force_login(user)
    return browser


def text(answer):
    assert answer.status_code == 200, answer
    return answer.content.decode()


def test_everybody_sees_counts_and_nobody_else_pseudonyms(ada):
    listed = text(Client().get("/trainings"))
    assert "ada/net, training 1" in listed
    shown = text(Client().get(PAGE))
    assert "Digits at home" in shown
    assert "No differential privacy was used" in shown
    assert 'class="chart"' not in shown  # the median of so few is the norm of one
    managed = text(signed_in(ada).get(PAGE))
    assert re.search(r"<figcaption[^>]*>From \S+ in round 1 to \S+ in round 2; least ", managed)
    guest = text(Client().get(f"{PAGE}/rounds/2"))
    assert "non finite" in guest
    assert "only maintainers see it" in guest
    names = Training.objects.get().participants.values_list("pseudonym", flat=True)
    assert not any(name in guest for name in names)
    mine = text(signed_in(ada).get(f"{PAGE}/rounds/2"))
    assert all(name in mine for name in names)
    assert "contribution, by its norm" in mine


def test_scores_and_the_draw_are_shown(ada):
    shown = text(Client().get(PAGE))
    assert ">Score<" not in shown
    assert "all are asked" in shown
    Round.objects.filter(number=1).update(score=0.625)
    Round.objects.filter(number=2).update(score=0.875)
    shown = text(Client().get(PAGE))
    assert "Score of the result, by round" in shown
    assert "0.875" in shown
    first = Round.objects.select_related("version", "aggregate").get(number=1)
    assert trainings.asked(first) == "all participants"
    first.selected, first.seed, first.candidates = ["p_1", "p_2"], "0" * 64, 1200
    assert trainings.asked(first) == "2 of 1\u202f200, drawn"
    first.seed = ""
    assert trainings.asked(first) == "2 who were named"


def test_maintainers_alone_are_led_to_provenance(ada):
    assert "provenance" not in text(Client().get(f"{PAGE}/rounds/2"))
    mine = text(signed_in(ada).get(f"{PAGE}/rounds/2"))
    assert f'href="/api/v1{PAGE}/rounds/2/provenance"' in mine


def test_a_version_leads_to_its_round(ada):
    shown = text(signed_in(ada).get("/models/ada/net/v/2"))
    assert f'href="{PAGE}/rounds/2"' in shown
    assert f"{PAGE}/rounds" not in text(signed_in(ada).get("/models/ada/net/v/1"))


def test_trainings_of_a_private_model_are_not_told(ada):
    Training.objects.get().model.__class__.objects.update(visibility="private")
    assert Client().get(PAGE).status_code == 404
    assert Client().get(f"{PAGE}/rounds/1").status_code == 404
    assert "ada/net" not in text(Client().get("/trainings"))
    assert "ada/net" in text(signed_in(ada).get("/trainings"))


def test_maintainers_steer_and_invite(ada):
    browser = signed_in(ada)
    assert Client().post(f"{PAGE}/act", {"action": "pause"}).status_code in (302, 401)
    assert Training.objects.get().state == "open"
    shown = text(browser.post(f"{PAGE}/act", {"action": "pause"}, follow=True))
    assert "The training is paused." in shown
    shown = text(browser.post(f"{PAGE}/act", {"action": "close"}, follow=True))
    assert "Round 3 is closing." in shown
    made = browser.post(f"{PAGE}/invite", {"uses": "3"})
    assert "fi_" in text(made)
    assert made["Cache-Control"] == "no-store"
    assert "fi_" not in text(browser.get(PAGE))


def test_rounds_are_read_page_by_page_with_a_fixed_number_of_queries(
    ada, monkeypatch, django_assert_max_num_queries
):
    with django_assert_max_num_queries(12):
        whole = text(Client().get(PAGE))
    assert "rounds/1" in whole
    monkeypatch.setattr("frontend.views.trainings.LISTED", 1)
    first = text(Client().get(PAGE))
    assert 'rel="next"' in first
    assert "trainings/1/rounds/1" not in first
    number = Round.objects.order_by("-number").first().number
    last = text(Client().get(f"{PAGE}?before=2"))
    assert f"trainings/1/rounds/{number}" not in last
    assert "trainings/1/rounds/1" in last
    assert 'rel="first"' in last


def test_a_model_lists_its_trainings_and_for_maintainers_its_fleets(ada, bob):
    model = RegisteredModel.objects.get()
    fleet, _ = fleets.create(ada, model=model, name="shops", halt_percent=20)
    page = "/models/ada/net/trainings"
    assert "Digits at home" in text(Client().get(page))
    for browser in (Client(), signed_in(bob)):
        assert "shops" not in text(browser.get(page))
        assert browser.get("/models/ada/net/fleets/shops").status_code in (302, 401, 403)
    assert 'href="/models/ada/net/fleets/shops"' in text(signed_in(ada).get(page))
    version = model.versions.get(number=1)
    fleets.desire(ada, fleet=fleet, version=version, percent=10)
    fleet.refresh_from_db()
    for place in range(6):
        fleets.report(
            fleet=fleet, device=f"d{place}", running=version.manifest_sha256,
            result="failed" if place > 3 else "ok", detail="no memory" if place > 3 else "",
        )  # fmt: skip
    shown = text(signed_in(ada).get("/models/ada/net/fleets/shops"))
    assert "The rollout is halted." in shown
    assert "4 of 6 devices that reported" in shown
    assert shown.index(">d4</th>") < shown.index(">d0</th>")
    assert "no memory" in shown
    assert signed_in(ada).get("/models/ada/net/fleets/none").status_code == 404


def test_a_private_models_trainings_are_404_to_others(ada, bob):
    RegisteredModel.objects.update(visibility="private")
    for browser in (Client(), signed_in(bob)):
        for page in ("/models/ada/net/trainings", "/models/ada/net/fleets/shops"):
            assert browser.get(page).status_code == 404
