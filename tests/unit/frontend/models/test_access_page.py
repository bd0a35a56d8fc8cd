"""A model's settings, and the page on which access is asked for and given; without scripts."""

from __future__ import annotations

import pytest
from django.test import Client

from registry.models import AccessRequest, RegisteredModel
from tests import factories, shared

pytestmark = pytest.mark.django_db
PAGE = "/models/ada/net/access"
CARD = factories.CARD.replace(
    "license:",
    "extra_gated_prompt: Cite <b>us</b>.\n"
    "extra_gated_fields:\n  Company: text\n  Country: country\nlicense:",
)


@shared.rows
def start():
    version = factories.published(factories.somebody("ada"), card=CARD)
    RegisteredModel.objects.update(gate="manual")
    return version.model


@pytest.fixture
def net(start, db):
    return shared.fresh(start)


def browser(user=None):
    made = Client(headers={"Accept": "text/html"})
    if user is not None:
        made.force_login(user)
    return made


def text(response, status=200):
    assert response.status_code == status, response.content
    return response.content.decode()


def test_a_guest_is_led_to_ask(net, graphs):
    guest = browser()
    page = text(guest.get("/models/ada/net"))
    assert "Request access" in page
    assert 'href="/models/ada/net/v/1/files/model.onnx"' not in page
    files = text(guest.get("/models/ada/net/v/1/files"))
    assert "Request access" in files
    assert "download aria-label" not in files
    assert guest.get("/models/ada/net/v/1/files/model.onnx")["Location"] == PAGE
    shown = text(guest.get(PAGE))
    assert "Sign in to request access" in shown
    assert "Cite &lt;b&gt;us&lt;/b&gt;." in shown
    assert guest.post(f"{PAGE}/ask", {}).status_code == 302  # to sign in
    assert not AccessRequest.objects.exists()


def test_somebody_asks_is_let_in_and_leaves(net, ada, bob):
    theirs, hers = browser(bob), browser(ada)
    assert "Include in your message: Company, Country." in text(theirs.get(PAGE))
    assert theirs.post(f"{PAGE}/ask", {"message": "a <study>"})["Location"] == PAGE
    assert "Request pending" in text(theirs.get(PAGE))
    assert "a &lt;study&gt;" in text(hers.get(PAGE))
    assert theirs.get("/models/ada/net/v/1/files/model.onnx").status_code == 302
    hers.post(f"{PAGE}/decide", {"user": "bob", "status": "accepted"})
    assert "You have access" in text(theirs.get(PAGE))
    answer = theirs.get("/models/ada/net/v/1/files/model.onnx")
    assert answer.status_code == 200
    answer.close()
    theirs.post(f"{PAGE}/withdraw")
    assert not AccessRequest.objects.exists()


def test_a_refusal_says_why_and_stays(net, ada, bob):
    theirs, hers = browser(bob), browser(ada)
    theirs.post(f"{PAGE}/ask", {})
    hers.post(f"{PAGE}/decide", {"user": "bob", "status": "rejected", "reason": "Unknown to us."})
    assert "Unknown to us." in text(theirs.get(PAGE))
    theirs.post(f"{PAGE}/withdraw")
    page = text(theirs.post(f"{PAGE}/ask", {}), 422)
    assert "A rejected access request cannot be withdrawn." in page
    assert AccessRequest.objects.get().status == "rejected"


def test_a_denied_user_who_asks_again_sees_the_error(net, ada, bob):
    theirs, hers = browser(bob), browser(ada)
    theirs.post(f"{PAGE}/ask", {})
    hers.post(f"{PAGE}/decide", {"user": "bob", "status": "rejected"})
    page = text(theirs.post(f"{PAGE}/ask", {}), 422)
    error = "Access to ada/net was rejected. Its owners can still grant you access."
    assert f'role="alert">{error}' in page
    assert "role=" not in text(theirs.get(PAGE)).partition('id="ask"')[2].partition("</section>")[0]


def test_owners_let_people_in_unasked(net, ada, bob):
    hers = browser(ada)
    assert "User nobody not found." in text(hers.post(f"{PAGE}/grant", {"user": "nobody"}), 422)
    hers.post(f"{PAGE}/grant", {"user": "bob"})
    assert AccessRequest.objects.get().status == "accepted"


def test_nobody_else_answers(net, bob):
    factories.user("carl")
    theirs = browser(bob)
    theirs.post(f"{PAGE}/ask", {"message": "mine"})
    for place, told in (
        ("access/decide", {"user": "bob", "status": "accepted"}),
        ("access/grant", {"user": "bob"}),
        ("settings", {"form": "audience", "visibility": "public", "gate": "open"}),
        ("settings", {"form": "move", "namespace": "bob", "name": "net"}),
    ):
        assert theirs.post(f"/models/ada/net/{place}", told).status_code == 403, place
    assert theirs.get("/models/ada/net/settings").status_code == 403
    assert AccessRequest.objects.get().status == "pending"


def test_settings_save_gate_and_name(net, ada):
    hers = browser(ada)
    assert "On request, reviewed by a maintainer" in text(hers.get("/models/ada/net/settings"))
    told = {"form": "audience", "visibility": "public", "gate": "auto"}
    assert hers.post("/models/ada/net/settings", told).status_code == 302
    assert RegisteredModel.objects.get().gate == "auto"
    wrong = {"form": "move", "namespace": "ada", "name": "a--b"}
    assert 'class="errorlist"' in text(hers.post("/models/ada/net/settings", wrong), 422)
    moved = hers.post("/models/ada/net/settings", wrong | {"name": "lattice"})
    assert moved["Location"] == "/models/ada/lattice/settings"
    assert "ada/net" in text(hers.get("/models/ada/lattice/settings"))
    assert RegisteredModel.objects.get().gate == "auto"


def test_an_open_model_has_nothing_to_ask(net):
    RegisteredModel.objects.update(gate="open")
    page = text(browser().get(PAGE))
    assert "The files are available to anyone who can see the model." in page
    assert "Sign in to request access" not in page
