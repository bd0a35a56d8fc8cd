"""The page on which maintainers let devices of a fleet enrol, and revoke them."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from hub.protocol import federated
from hub.protocol.fleets import enrolment
from registry.federated.models import EnrolledDevice
from registry.federated.services import enrolments, fleets
from tests import factories

pytestmark = [pytest.mark.capability("federated"), pytest.mark.django_db]


def signed_in(user):
    browser = Client()
    browser.force_login(user)
    return browser


def text(answer):
    assert answer.status_code == 200
    return answer.content.decode()


def test_devices_enrol_from_the_page_of_their_fleet(ada, bob):
    model = factories.model(ada)
    fleet, _ = fleets.create(ada, model=model, name="shops")
    place = "/models/ada/net/fleets/shops"
    browser = signed_in(ada)
    made = browser.post(f"{place}/devices", {"uses": 2, "expires_days": 30})
    (code,) = set(re.findall(r"fe_[\w-]{20,}", made.content.decode()))
    assert "no-store" in made["Cache-Control"]
    assert code not in text(browser.get(f"{place}/devices"))
    key = federated.new_key()
    enrolments.enrol(
        namespace="ada", name="net", fleet="shops", code=code, device="till-1",
        public_key=federated.public_key(key),
        signature=federated.sign(enrolment("ada/net", "shops", "till-1", code), key),
    )  # fmt: skip
    assert "till-1" in text(browser.get(f"{place}/devices"))
    assert signed_in(bob).get(f"{place}/devices").status_code == 404
    assert signed_in(bob).post(f"{place}/revoke", {"device": "till-1"}).status_code == 404
    browser.post(f"{place}/revoke", {"device": "till-1"})
    assert not EnrolledDevice.objects.filter(revoked_at=None).exists()
    browser.post(f"{place}/revoke", {"invite": str(fleet.invites.get().pk)})
    assert fleet.invites.get().revoked_at is not None
    browser.post(f"{place}/revoke", {})
    fleet.refresh_from_db()
    assert not fleet.has_shared_token
    assert "The shared token is revoked" in text(browser.get(f"{place}/devices"))
