"""Client certificates of devices: believed of a trusted proxy alone, and what is done with them."""

from __future__ import annotations

import base64
import hashlib
from ipaddress import ip_network

import pytest

from hub.protocol import federated
from registry.federated.models import Participant
from tests import factories, learning, shared

pytestmark = [pytest.mark.capability("federated"), pytest.mark.django_db]

DER = b"\x30\x03\x02\x01\x07"
HEADER = f":{base64.b64encode(DER).decode()}:"
OTHER = f":{base64.b64encode(DER + b'0').decode()}:"
DIGEST = hashlib.sha256(DER).hexdigest()


@shared.rows
def start():
    ada = factories.somebody("ada")
    return learning.training(ada, factories.version(ada))


@pytest.fixture
def training(start, db):
    return shared.fresh(start)


@pytest.fixture
def join(api, ada, training):
    code = learning.invited(ada, training)

    def join(**headers):
        said = {"invite": code, "public_key": federated.public_key(federated.new_key())}
        return api().post("models/ada/net/trainings/1/participants", said, **headers)

    return join


@pytest.fixture
def _trusted(settings):
    settings.HUB_CERTIFICATE_PROXIES = [ip_network("127.0.0.0/8")]


def task(api, token, **headers):
    client = api()
    client.headers["Authorization"] = f"Bearer {token}"
    return client.get("models/ada/net/trainings/1/task", **headers)


def test_the_header_means_nothing_by_default(api, join):
    made = join(Client_Cert=HEADER)
    assert (made.status_code, Participant.objects.get().certificate) == (201, "")
    assert task(api, made.json()["token"]).status_code == 200


def test_nor_from_anybody_but_the_proxy(settings, join):
    settings.HUB_CERTIFICATE_PROXIES = [ip_network("10.0.0.7/32")]
    join(Client_Cert=HEADER)
    assert Participant.objects.get().certificate == ""


@pytest.mark.usefixtures("_trusted")
def test_who_joins_with_a_certificate_has_to_come_with_it(api, ada, training, join):
    token = join(Client_Cert=HEADER).json()["token"]
    assert Participant.objects.get().certificate == DIGEST
    assert task(api, token, Client_Cert=HEADER).status_code == 200
    for headers in ({}, {"Client_Cert": OTHER}):
        refused = task(api, token, **headers)
        assert (refused.status_code, learning.slug(refused)) == (403, "certificate-wrong")
    participants = api(ada).get("models/ada/net/trainings/1/participants").json()["items"]
    assert participants[0]["certificate"] == f"sha256:{DIGEST}"


@pytest.mark.usefixtures("_trusted")
def test_who_joins_without_one_is_asked_for_none(api, join):
    assert task(api, join().json()["token"]).status_code == 200


@pytest.mark.usefixtures("_trusted")
def test_a_maintainer_enters_a_renewed_one(api, ada, join):
    made = join(Client_Cert=HEADER).json()
    address = f"models/ada/net/trainings/1/participants/{made['participant']}"
    renewed = hashlib.sha256(DER + b"0").hexdigest()
    changed = api(ada).patch(address, {"certificate": f"sha256:{renewed}"})
    assert (changed.status_code, changed.json()["state"]) == (200, "active")
    assert task(api, made["token"], Client_Cert=OTHER).status_code == 200
    assert task(api, made["token"], Client_Cert=HEADER).status_code == 403
    api(ada).patch(address, {"certificate": ""})
    assert task(api, made["token"]).status_code == 200
    assert api(ada).patch(address, {"certificate": "sha256:1"}).status_code == 400


@pytest.mark.usefixtures("_trusted")
@pytest.mark.parametrize("said", ["MAMCAQc=", ":!:", f"{HEADER}, {HEADER}", ":AAAA:", ":MAM:"])
def test_a_header_that_holds_no_certificate_is_refused(join, said):
    refused = join(Client_Cert=said)
    assert (refused.status_code, learning.slug(refused)) == (400, "invalid-request")
    assert not Participant.objects.exists()


@pytest.fixture
def demanding(ada, training, _trusted):
    made = learning.training(ada, training.base, rules={"client_certificate": True})
    return made, learning.invited(ada, made)


def test_a_training_may_demand_a_certificate(api, ada, demanding):
    made, code = demanding
    path = f"models/ada/net/trainings/{made.number}"
    assert api().get(path).json()["rules"]["client_certificate"] is True
    said = {"invite": code, "public_key": federated.public_key(federated.new_key())}
    refused = api().post(f"{path}/participants", said)
    assert (refused.status_code, learning.slug(refused)) == (403, "certificate-needed")
    assert "HUB_CLIENT_CERTIFICATE" in refused.json()["detail"]
    assert not Participant.objects.filter(training=made).exists()
    joined = api().post(f"{path}/participants", said, Client_Cert=HEADER)
    assert joined.status_code == 201
    invites = api(ada).get(f"{path}/invites").json()["items"]
    assert [one["used"] for one in invites] == [1]  # who was refused used up nothing
    # Bound to none, a device still needs some certificate.
    participant = f"{path}/participants/{joined.json()['participant']}"
    assert api(ada).patch(participant, {"certificate": ""}).status_code == 200
    device = api()
    device.headers["Authorization"] = f"Bearer {joined.json()['token']}"
    assert device.get(f"{path}/task", Client_Cert=OTHER).status_code == 200
    refused = device.get(f"{path}/task")
    assert (refused.status_code, learning.slug(refused)) == (403, "certificate-needed")


def test_a_demand_that_nobody_could_meet_is_refused(api, ada, training):
    path = "models/ada/net/trainings"
    wanted = {"version": training.base.number, "rules": {"client_certificate": True}}
    refused = api(ada).post(path, wanted)
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["pointer"] == "/rules/client_certificate"
    assert "HUB_CERTIFICATE_PROXIES" in refused.json()["errors"][0]["detail"]
