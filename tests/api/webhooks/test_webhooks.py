"""Webhooks: who registers them, what is sent and to where, when again, and what never leaves."""

from __future__ import annotations

import json
import socket
from datetime import timedelta
from ipaddress import ip_address, ip_network

import pytest
from django.test import Client
from django.utils import timezone
from standardwebhooks.webhooks import WebhookVerificationError

from registry.core import outbox, public_addresses
from registry.models import Delivery, Event
from registry.people.services import namespaces, users
from registry.versions.services import registered_models
from registry.webhooks import sending, services, signing
from registry.webhooks.models import Webhook, WebhookDelivery
from tests import factories, mail
from tests.api.versions.test_models import problem
from tests.receiver import receiving

pytestmark = [pytest.mark.capability("webhooks"), pytest.mark.django_db]

PUBLIC = "https://ci.example.org/hook"
LOOPBACK = ip_network("127.0.0.0/8")


@pytest.fixture
def receiver(settings):
    settings.HUB_WEBHOOK_NETWORKS = [LOOPBACK]
    with receiving() as server:
        yield server


def add(client, url=PUBLIC, **fields):
    scope = {} if "model" in fields else {"namespace": "ada"}
    return client.post("webhooks", {"url": url, "events": ["model.edited"]} | scope | fields)


def hooked(actor, url, **fields):
    """A webhook of the actor's own namespace, with its secret."""
    space = None if "model" in fields else actor.memberships.get().namespace
    verbs = {"events": ["model.edited"]} | fields
    webhook = services.add(actor, url=url, namespace=space, **verbs)
    return webhook, webhook.secret


def edited(actor, model, summary="new"):
    return registered_models.edit(actor, model=model, summary=summary)


def send():
    """Deliver events, then send what is due."""
    outbox.deliver()
    while sending.take_turn():
        pass


def later(**time):
    """Let time pass: what is due then is due now."""
    rows = WebhookDelivery.objects.filter(state="pending")
    rows.update(next_at=timezone.now())
    if time:
        Webhook.objects.update(failing_since=timezone.now() - timedelta(**time))
    send()


def test_an_owner_registers_lists_edits_and_removes(api, ada):
    client = api(ada)
    answer = add(client)
    assert answer.status_code == 201
    body = answer.json()
    assert body["secret"].startswith("whsec_")
    assert (body["namespace"], body["model"], body["state"]) == ("ada", None, "active")
    place = f"webhooks/{body['id']}"
    assert "secret" not in client.get(place).json()
    assert body["secret"] not in Webhook.objects.get().sealed_secret
    assert not Event.objects.filter(data__icontains="/hook").exists()
    assert client.patch(place, {"is_paused": True}).json()["state"] == "paused"
    assert client.patch(place, {"url": f"{PUBLIC}/2"}).json()["state"] == "paused"
    assert client.patch(place, {"is_paused": False}).json()["state"] == "active"
    assert [row["url"] for row in client.get("webhooks").json()["items"]] == [f"{PUBLIC}/2"]
    assert client.delete(place).status_code == 204
    problem(client.get(place), 404, "not-found")
    verbs = Event.objects.filter(verb__startswith="webhook.").order_by("pk")
    assert [row.verb for row in verbs] == [
        "webhook.created", "webhook.edited", "webhook.edited", "webhook.edited", "webhook.removed",
    ]  # fmt: skip


def test_only_owners_see_the_webhooks_of_a_namespace(api, ada, bob):
    key = add(api(ada)).json()["id"]
    space = Webhook.objects.get().namespace
    namespaces.set_member(ada, namespace=space, user=bob, role="maintainer")
    problem(add(api(bob)), 403, "not-allowed")
    problem(api(bob).get(f"webhooks/{key}"), 404, "not-found")
    problem(api(bob).get(f"webhooks/{key}/deliveries"), 404, "not-found")
    assert api(bob).get("webhooks").json()["items"] == []
    problem(api().get("webhooks"), 401, "not-authenticated")
    problem(api(ada, ["write"]).get("webhooks"), 403, "not-allowed")
    namespaces.set_member(ada, namespace=space, user=bob, role="owner")
    assert api(bob).get(f"webhooks/{key}").status_code == 200
    stranger = factories.user("eve")
    problem(add(api(stranger)), 404, "not-found")


def test_anyone_registers_for_a_model_that_they_see(api, ada, bob):
    private = factories.model(ada, "secret", visibility="private")
    public = factories.version(ada).model
    problem(add(api(bob), model=private.ref), 404, "not-found")
    key = add(api(bob), model=public.ref).json()["id"]
    problem(api(ada).get(f"webhooks/{key}"), 404, "not-found")
    problem(add(api(ada), model=public.ref, namespace="ada"), 400, "invalid-request")
    problem(add(api(ada), namespace=""), 400, "invalid-request")


@pytest.mark.parametrize(
    "url",
    ["http://ci.example.org/", "ftp://ci.example.org/", "https://u:p@ci.example.org/", "https://",
     "https://127.0.0.1/", "https://[::1]/", "https://[::ffff:10.0.0.1]/", "https://169.254.169.254",
     "https://[64:ff9b::7f00:1]/", "https://ci.example.org:0/", "https://cí.example.org/",
     "https://[::1", "https://10.0.0.7/x"],
)  # fmt: skip
def test_an_address_that_may_receive_nothing_is_refused(api, ada, url):
    answer = problem(add(api(ada), url=url), 400, "invalid-request")
    assert answer["errors"][0]["pointer"] == "/url"
    assert not Webhook.objects.exists()


def test_events_must_be_readable_ones(api, ada):
    for verbs in ([], ["model.painted"], ["token.created"], ["member.changed"], ["job.finished"]):
        answer = problem(add(api(ada), events=verbs), 400, "invalid-request")
        assert "version.published" in answer["errors"][0]["detail"]


def test_there_is_a_limit(api, ada, monkeypatch):
    monkeypatch.setattr(services, "MOST", 1)
    assert add(api(ada)).status_code == 201
    problem(add(api(ada)), 409, "state-conflict")


def test_an_event_arrives_once_signed_by_the_standard(ada, receiver):
    model = factories.model(ada)
    webhook, secret = hooked(ada, receiver.url)
    edited(ada, model)
    edited(ada, model, "newer")
    send()
    send()
    events = list(Event.objects.filter(verb="model.edited").order_by("pk"))
    assert len(receiver.messages) == len(set(receiver.ids())) == 2
    for position, event in enumerate(events):
        assert receiver.verified(secret, position) == {
            "type": "model.edited",
            "timestamp": event.at.isoformat().replace("+00:00", "Z"),
            "data": {
                "event": event.pk,
                "model": "ada/net",
                "actor": "ada",
                "url": "http://testserver/models/ada/net",
            },
        }
    with pytest.raises(WebhookVerificationError):
        receiver.verified(signing.new_secret())
    rows = webhook.deliveries.all()
    assert {(row.state, row.status, row.attempts, row.error) for row in rows} == {
        ("delivered", 204, 1, "")
    }
    assert {row.message for row in rows} == set(receiver.ids())
    assert not Delivery.objects.filter(consumer=services.CONSUMER).exists()


def test_what_happened_before_and_what_was_not_asked_for_is_not_sent(ada, bob, receiver):
    model, other = factories.model(ada), factories.model(bob, "other")
    edited(ada, model)
    webhook, _ = hooked(ada, receiver.url)
    edited(bob, other)
    factories.version(ada, model)
    send()
    assert receiver.messages == []
    assert not webhook.deliveries.exists()


def test_versions_are_named_with_their_page(ada, bob, receiver):
    draft = factories.version(ada).model
    _, secret = hooked(bob, receiver.url, model=draft, events=["version.published"])
    factories.version(ada, draft)
    send()
    data = receiver.verified(secret)["data"]
    assert (data["model"], data["version"]) == ("ada/net", 2)
    assert data["url"] == "http://testserver/models/ada/net/v/2"
    # Who did it is for owners of the namespace.
    assert "actor" not in data


def test_a_new_secret_signs_beside_the_former_for_a_day(api, ada, receiver):
    model = factories.model(ada)
    webhook, former = hooked(ada, receiver.url)
    answer = api(ada).post(f"webhooks/{webhook.pk}/secret")
    present = answer.json()["secret"]
    edited(ada, model)
    send()
    assert receiver.verified(former) == receiver.verified(present)
    Webhook.objects.update(former_until=timezone.now())
    edited(ada, model, "newer")
    send()
    receiver.verified(present)
    with pytest.raises(WebhookVerificationError):
        receiver.verified(former)


def test_secrets_survive_a_new_key_of_the_hub(ada, receiver, settings):
    model = factories.model(ada)
    webhook, secret = hooked(ada, receiver.url)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another", [settings.SECRET_KEY]
    edited(ada, model)
    send()
    receiver.verified(secret)
    settings.SECRET_KEY_FALLBACKS = []
    edited(ada, model, "newer")
    send()
    assert len(receiver.messages) == 1
    assert "No key of this hub" in webhook.deliveries.first().error


@pytest.mark.parametrize("loss", ["role", "visibility", "account"])
def test_what_the_user_may_not_read_at_delivery_is_withheld(ada, bob, admin, receiver, loss):
    space = factories.namespace(ada)
    model = factories.version(ada, factories.model(ada, slug="lab")).model
    scope = {"namespace": space} if loss == "role" else {"model": model}
    namespaces.set_member(ada, namespace=space, user=bob, role="owner")
    services.add(bob, url=receiver.url, events=["model.edited"], **scope)
    edited(ada, model)
    outbox.deliver()
    if loss == "role":
        namespaces.set_member(ada, namespace=space, user=bob, role="maintainer")
    elif loss == "visibility":
        namespaces.set_member(ada, namespace=space, user=bob, role=None)
        registered_models.edit(ada, model=model, visibility="private")
    else:
        users.set_active(admin, user=bob, active=False, ends_dependents=True)
    send()
    assert receiver.messages == []
    states = set(WebhookDelivery.objects.values_list("state", flat=True))
    assert states <= {"withheld"}
    assert loss == "account" or states


def test_drafts_are_for_those_who_see_them(ada, bob, receiver):
    model = factories.version(ada).model
    hooked(bob, receiver.url, model=model, events=["version.drafted", "version.submitted"])
    factories.draft(ada, model)
    send()
    assert receiver.messages == []


def test_a_failure_is_tried_again_after_growing_waits_under_one_id(ada, receiver):
    model = factories.model(ada)
    webhook, _ = hooked(ada, receiver.url)
    receiver.answer = (500, {}, b"broken \x00 thing")
    edited(ada, model)
    waits = []
    send()
    for _ in range(20):
        row = webhook.deliveries.get()
        if row.state != "pending":
            break
        waits.append(round((row.next_at - row.attempted_at).total_seconds()))
        send()  # nothing is due
        assert len(receiver.messages) == len(waits)
        later()
    assert tuple(waits) == sending.WAITS
    assert len(receiver.messages) == len(sending.WAITS) + 1
    assert len(set(receiver.ids())) == 1
    assert (row.state, row.status, row.error) == ("failed", 500, "answered 500")
    assert row.answer == "broken  thing"


def test_a_webhook_that_fails_for_days_is_disabled_with_notice(api, ada, receiver, settings):
    settings.HUB_PUBLIC_URL = "http://testserver/"
    ada.email = "ada@example.org"
    ada.save()
    model = factories.model(ada)
    webhook, _ = hooked(ada, receiver.url)
    receiver.answer = (500, {}, b"")
    edited(ada, model)
    with mail.server(settings) as inbox:
        send()
        later(days=2)
        webhook.refresh_from_db()
        assert webhook.state == "active"
        later(days=3)
        webhook.refresh_from_db()
        assert webhook.state == "disabled"
        assert "answered 500" in webhook.reason
        (notice,) = inbox.mails
    assert notice["To"] == "ada@example.org"
    assert f"/account/webhooks/{webhook.pk}" in notice.get_content()
    edited(ada, model, "newer")
    later()
    assert len(receiver.messages) == 3
    assert webhook.deliveries.count() == 1
    # Resumed, it gets what is pending.
    receiver.answer = (200, {}, b"")
    api(ada).patch(f"webhooks/{webhook.pk}", {"is_paused": False})
    later()
    assert len(receiver.messages) == 4
    assert webhook.deliveries.get().state == "delivered"


def test_gone_ends_a_webhook_at_once(ada, receiver):
    webhook, _ = hooked(ada, receiver.url)
    receiver.answer = (410, {}, b"")
    edited(ada, factories.model(ada))
    send()
    webhook.refresh_from_db()
    assert webhook.state == "disabled"


def test_a_delivery_is_replayed_under_its_id(api, ada, receiver):
    webhook, secret = hooked(ada, receiver.url)
    edited(ada, factories.model(ada))
    send()
    place = f"webhooks/{webhook.pk}/deliveries"
    (row,) = api(ada).get(place).json()["items"]
    assert (row["state"], row["status"], row["event"]) == ("delivered", 204, "model.edited")
    assert row["message_id"] == receiver.ids()[0]
    assert api(ada).get(f"{place}?state=failed").json()["items"] == []
    again = api(ada).post(f"{place}/{row['id']}/replay")
    assert again.json()["state"] == "pending"
    send()
    assert receiver.ids() == [row["message_id"]] * 2
    assert receiver.verified(secret, 0) == receiver.verified(secret, 1)
    api(ada).patch(f"webhooks/{webhook.pk}", {"is_paused": True})
    problem(api(ada).post(f"{place}/{row['id']}/replay"), 409, "state-conflict")
    problem(api(ada).post(f"{place}/999/replay"), 404, "not-found")


def names_of(monkeypatch, answers):
    """Let a name server give these addresses, one after another; returns where sockets went."""
    resolve, connect, went = socket.getaddrinfo, socket.socket.connect, []
    left = list(answers)

    def getaddrinfo(host, port, *args, **options):
        if host == "rebind.example.org":
            host = left.pop(0) if len(left) > 1 else left[0]
        return resolve(host, port, *args, **options)

    def note(self, address):
        went.append(address[0])
        if address[0] == "93.184.215.14":
            raise ConnectionRefusedError("no internet here")
        return connect(self, address)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    monkeypatch.setattr(socket.socket, "connect", note)
    return went


def test_a_name_that_turns_to_an_internal_address_is_never_reached(ada, monkeypatch):
    with receiving() as inner:
        port = inner.server_address[1]
        went = names_of(monkeypatch, ["93.184.215.14", "127.0.0.1"])
        webhook, _ = hooked(ada, f"https://rebind.example.org:{port}/hook")
        edited(ada, factories.model(ada))
        send()
        # The address that was judged is the one that was connected to.
        assert went == ["93.184.215.14"]
        later()
        later()
        assert went == ["93.184.215.14"]
        assert inner.messages == []
    row = webhook.deliveries.get()
    assert row.error.startswith("127.0.0.1 is not a public address")
    assert (row.status, row.answer) == (None, "")


def test_without_tls_only_allowed_networks_are_reached(ada, monkeypatch, receiver):
    went = names_of(monkeypatch, ["93.184.215.14"])
    webhook, _ = hooked(ada, "http://rebind.example.org/hook")
    edited(ada, factories.model(ada))
    send()
    assert went == []
    assert "not in HUB_WEBHOOK_NETWORKS" in webhook.deliveries.get().error


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(ada, receiver, status):
    with receiving() as inner:
        receiver.answer = (status, {"Location": inner.url}, b"")
        webhook, _ = hooked(ada, receiver.url)
        edited(ada, factories.model(ada))
        send()
        assert inner.messages == []
    row = webhook.deliveries.get()
    assert row.error == f"answered {status}; redirects are not followed"
    assert row.state == "pending"


def test_a_long_answer_is_cut(ada, receiver):
    receiver.answer = (200, {"Content-Length": str(10**9)}, b"x" * 100_000)
    webhook, _ = hooked(ada, receiver.url)
    edited(ada, factories.model(ada))
    send()
    row = webhook.deliveries.get()
    assert row.state == "delivered"
    assert row.answer == "x" * 1000


def test_an_answer_byte_by_byte_is_given_up(ada, receiver, dribble, monkeypatch):
    monkeypatch.setattr(sending, "ANSWER_SECONDS", 0.5)
    slow = dribble(b"HTTP/1.1 200 OK\r\nX-Long: ", b"x" * 1000)
    webhook, _ = hooked(ada, f"{slow.url}/hook")
    edited(ada, factories.model(ada))
    send()
    row = webhook.deliveries.get()
    assert (row.state, row.status) == ("pending", None)
    assert "no answer" in row.error


def test_a_killed_process_leaves_its_delivery_to_others(ada, receiver, monkeypatch):
    """The answer came, and the process ended before it recorded that."""
    webhook, _ = hooked(ada, receiver.url)
    edited(ada, factories.model(ada))
    outbox.deliver()

    class Killed(BaseException):
        pass

    def die(*_):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(sending, "_record", die)
        # Nothing of its own ends the claim of a process that is killed.
        patched.setattr(sending.urllib3.PoolManager, "clear", die)
        with pytest.raises(Killed):
            sending.take_turn()
    assert not sending.take_turn()
    Webhook.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
    assert sending.take_turn()
    assert len(receiver.messages) == 2
    assert len(set(receiver.ids())) == 1
    assert webhook.deliveries.get().state == "delivered"


def test_slow_ones_have_half_of_the_places(ada, receiver, monkeypatch):
    monkeypatch.setattr(sending, "PLACES", 2)
    model = factories.model(ada)
    slow = [hooked(ada, receiver.url)[0] for _ in range(2)]
    Webhook.objects.update(is_slow=True)
    quick, _ = hooked(ada, receiver.url)
    edited(ada, model)
    outbox.deliver()
    assert sending._claim() in slow
    assert sending._claim() == quick
    assert sending._claim() is None


def test_old_deliveries_are_deleted(ada, receiver):
    hooked(ada, receiver.url)
    edited(ada, factories.model(ada))
    send()
    assert services.delete_old() == 0
    WebhookDelivery.objects.update(created_at=timezone.now() - services.RETENTION * 1.01)
    assert services.delete_old() == 1


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.215.14", True),
        ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("169.254.169.254", False),
        ("0.0.0.0", False),  # noqa: S104 - the address of no machine
        ("224.0.0.1", False),
        ("100.64.0.1", False),
        ("::1", False),
        ("fd00::1", False),
        ("fe80::1", False),
        ("::ffff:127.0.0.1", False),
        ("2002:7f00:1::", False),
        ("64:ff9b::a00:1", False),
    ],
)
def test_what_is_a_public_address(address, public):
    assert public_addresses.is_public(ip_address(address)) is public


def test_the_pages_add_show_replay_and_remove(ada, receiver):
    model = factories.model(ada)
    browser = Client()
    browser.force_login(ada)
    page = browser.post(
        "/account/webhooks", {"scope": "ada", "url": receiver.url, "events": ["model.edited"]}
    )
    assert "whsec_" in page.content.decode()
    assert "whsec_" not in browser.get("/account/webhooks").content.decode()
    row = Webhook.objects.get()
    edited(ada, model)
    send()
    text = browser.get(f"/account/webhooks/{row.pk}").content.decode()
    assert receiver.ids()[0] in text
    assert receiver.url in browser.get("/account/namespaces/ada").content.decode()
    delivery = row.deliveries.get()
    browser.post(f"/account/webhooks/{row.pk}/act", {"action": str(delivery.pk)})
    send()
    assert len(receiver.messages) == 2
    for action, state in (("pause", "paused"), ("resume", "active")):
        browser.post(f"/account/webhooks/{row.pk}/act", {"action": action})
        assert Webhook.objects.get().state == state
    page = browser.post(f"/account/webhooks/{row.pk}/act", {"action": "rotate"})
    assert "whsec_" in page.content.decode()
    refused = browser.post(
        "/account/webhooks", {"scope": "ada", "url": "https://10.0.0.1", "events": ["model.edited"]}
    )
    assert refused.status_code == 422
    stranger = Client()
    stranger.force_login(factories.user("eve"))
    assert stranger.get(f"/account/webhooks/{row.pk}").status_code == 404
    assert stranger.post(f"/account/webhooks/{row.pk}/act", {"action": "remove"}).status_code == 404
    browser.post(f"/account/webhooks/{row.pk}/act", {"action": "remove"})
    assert not Webhook.objects.exists()


def test_a_closed_account_names_its_webhooks_and_hands_them_over(ada, bob, admin):
    space = factories.namespace(ada)
    namespaces.set_member(ada, namespace=space, user=bob, role="owner")
    webhook = services.add(ada, url=PUBLIC, events=["model.edited"], namespace=space)
    names = [(of.kind, of.name) for of in services.of_account(ada)]
    assert names == [("webhook", f"{webhook.pk} of lab")]
    users.set_active(admin, user=ada, active=False, heir="bob")
    webhook.refresh_from_db()
    assert webhook.user == bob


def test_bodies_are_json_without_spaces(ada, receiver):
    hooked(ada, receiver.url)
    edited(ada, factories.model(ada))
    send()
    _, body = receiver.messages[0]
    assert json.dumps(json.loads(body), separators=(",", ":")).encode() == body
