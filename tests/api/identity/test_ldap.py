"""Sign-in with the passwords of an LDAP directory: Debian's slapd on this machine."""

from __future__ import annotations

import socket
import threading
import time
import uuid
from contextlib import contextmanager

import pytest
from django.contrib.auth import authenticate
from django.test import Client, RequestFactory

from hub.protocol import problems
from hub.server.environment import Environment, LdapServer
from hub.server.settings.identity import GroupRole
from registry.core import directories as registered
from registry.core import usage
from registry.core.breakers import Breaker
from registry.identity.models import DirectoryAccount, SecurityEvent
from registry.models import Event, Membership, Namespace, User
from registry.people.services import namespaces
from tests import directory as directories
from tests import factories
from tests.directory import PASSWORD

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.capability("identity"),
    pytest.mark.skipif(
        bool(directories.needs_directory()), reason=directories.needs_directory() or "none"
    ),
]
OWN_PASSWORD = "a long enough password"


@pytest.fixture(scope="module")
def slapd(tmp_path_factory):
    with directories.run_directory(tmp_path_factory.mktemp("slapd")) as running:
        yield running


@pytest.fixture
def hub(slapd, settings, monkeypatch):
    """The settings of a hub with the directory, by LDAPS."""
    from registry.identity import ldap_directory

    monkeypatch.setattr(ldap_directory, "_breaker", Breaker("ldap"))
    settings.HUB_LDAP_SERVER = LdapServer(f"ldaps://127.0.0.1:{slapd.tls_port}", False)
    settings.HUB_LDAP_CA = str(slapd.folder / "ca.pem")
    settings.HUB_LDAP_BASE, settings.HUB_LDAP_GROUP_BASE = directories.PEOPLE, directories.GROUPS
    settings.HUB_LDAP_BIND_DN = directories.SEARCHER
    settings.HUB_LDAP_BIND_PASSWORD = directories.SEARCHER_PASSWORD
    return settings


@pytest.fixture
def grace(slapd):
    dn = slapd.add("grace", mail="grace@example.org")
    yield dn
    slapd.remove(dn)


def sign_in(name, password=PASSWORD, client=None, **headers):
    return (client or Client()).post("/login", {"username": name, "password": password}, **headers)


def whoami(client):
    return client.get("/api/v1/whoami").json().get("username")


def user_of(name, password=PASSWORD):
    """The account that a name and a password sign in to, asked without the form of the page."""
    return authenticate(RequestFactory().post("/login"), username=name, password=password)


def test_a_first_sign_in_makes_an_account(hub, grace, client):
    assert sign_in("grace", client=client).status_code == 302
    assert whoami(client) == "grace"
    user = User.objects.get(username="grace")
    assert (user.email, user.has_usable_password(), user.must_change_password) == (
        "grace@example.org",
        False,
        False,
    )
    assert user.emailaddress_set.get().verified
    assert Namespace.objects.filter(slug="grace").exists()
    assert Event.objects.filter(verb="user.created", subject_id=user.pk).exists()
    assert sign_in("grace").status_code == 302
    assert User.objects.count() == 1
    usage.notes.flush()
    assert SecurityEvent.objects.filter(kind="sign_in", actor=user).count() == 2


def test_a_wrong_password_is_refused_and_logged(hub, grace):
    sign_in("grace")
    assert "Incorrect user name or password" in sign_in("grace", "wrong").content.decode()
    usage.notes.flush()
    user = User.objects.get(username="grace")
    assert SecurityEvent.objects.filter(kind="sign_in_failed", actor=user).count() == 1


@pytest.mark.parametrize("password", ["", " "])
def test_an_empty_password_is_never_sent(hub, grace, password):
    # slapd answers a bind with a name and no password with success (RFC 4513, 5.1.2).
    assert user_of("grace", password) is None
    assert User.objects.count() == 0


@pytest.mark.parametrize(
    "name",
    ["*", "g*", "grace)(uid=*", "*)(uid=*", "*)(|(uid=*", "\\", "\\2a", "grace\0", "\0", "(", ")",
     "grace)(objectClass=*))(&(uid=grace", "é" * 5000],
)  # fmt: skip
def test_names_are_never_filters(hub, grace, name):
    assert registered.find(name) is None
    assert sign_in(name).status_code == 200  # the form again
    assert User.objects.count() == 0


@pytest.mark.parametrize("name", ["zoë", "a*b(c)d", "back\\slash", "名前"])
def test_odd_names_find_their_person_alone(hub, slapd, name):
    dn = slapd.add(name)
    try:
        user = user_of(name)
        assert user is not None
        assert DirectoryAccount.objects.get().user == user
        assert user_of(name, "wrong") is None
    finally:
        slapd.remove(dn)


def test_an_account_is_the_id_and_not_the_name(hub, slapd, client):
    dn = slapd.add("hopper")
    try:
        sign_in("hopper", client=client)
        dn = slapd.rename(dn, "murray")
        again = Client()
        sign_in("murray", client=again)
        assert whoami(again) == whoami(client) == "hopper"
        other = slapd.add("hopper")
        try:
            newcomer = Client()
            sign_in("hopper", client=newcomer)
            assert whoami(newcomer) == "hopper-2"
        finally:
            slapd.remove(other)
    finally:
        slapd.remove(dn)


def test_a_name_of_a_local_account_is_no_way_in(hub, slapd, ada):
    dn = slapd.add("ada")
    try:
        browser, owner = Client(), Client()
        sign_in("ada", client=browser)
        assert whoami(browser) == "ada-2"
        sign_in("ada", OWN_PASSWORD, client=owner)
        assert whoami(owner) == "ada"
    finally:
        slapd.remove(dn)


def test_an_address_of_an_account_is_no_way_in(hub, grace, ada):
    User.objects.filter(pk=ada.pk).update(email="Grace@example.org")
    refused = sign_in("grace")
    assert refused.status_code == 409
    assert "connect it with the directory under Account" in refused.json()["detail"]
    assert User.objects.count() == 1


def test_an_owner_connects_the_account(hub, grace, ada):
    User.objects.filter(pk=ada.pk).update(email="grace@example.org")
    owner = Client()
    sign_in("ada", OWN_PASSWORD, client=owner)
    form = {"username": "grace", "password": PASSWORD}
    assert owner.post("/account/directory", form).url == "/account/directory"
    asked = owner.get("/account/directory")
    assert asked.url.startswith("/account/confirm")
    owner.post(asked.url, {"password": OWN_PASSWORD})
    assert (
        "Incorrect" in owner.post("/account/directory", form | {"password": "x"}).content.decode()
    )
    assert owner.post("/account/directory", form).status_code == 302
    browser = Client()
    sign_in("grace", client=browser)
    assert whoami(browser) == "ada"
    assert sign_in("ada", OWN_PASSWORD).status_code == 302
    user = User.objects.get(username="ada")
    assert not user.must_change_password
    carol = Client()
    carol.force_login(factories.user("carol"))
    asked = carol.get("/account/directory")
    carol.post(asked.url, {"password": OWN_PASSWORD})
    assert "connected already" in carol.post("/account/directory", form).content.decode()


def test_accounts_may_be_closed_to_strangers(hub, grace):
    hub.HUB_LDAP_ACCOUNTS = False
    refused = sign_in("grace")
    assert refused.status_code == 403
    assert "You have no account here" in refused.json()["detail"]
    assert User.objects.count() == 0


def test_a_closed_account_stays_closed(hub, grace):
    sign_in("grace")
    User.objects.update(is_active=False)
    browser = Client()
    sign_in("grace", client=browser)
    assert whoami(browser) is None


def test_groups_give_and_take_roles(hub, slapd, grace, ada):
    lab = namespaces.create(ada, slug="lab")
    hub.HUB_LDAP_GROUPS = [
        GroupRole("staff", "lab", "reader"),
        GroupRole("chemists", "lab", "maintainer"),
        GroupRole("staff", "missing", "owner"),
    ]
    roles = []
    for groups in (["staff", "chemists"], ["staff"], []):
        for name in ("staff", "chemists"):
            slapd.group(name, *([grace] if name in groups else []))
        assert sign_in("grace").status_code == 302
        of = Membership.objects.filter(namespace=lab, user__username="grace")
        roles.append(of.values_list("role", flat=True).first())
    assert roles == ["maintainer", "reader", None]
    assert Membership.objects.get(namespace=lab).user == ada


def test_groups_of_another_place_count_for_nothing(hub, slapd, grace, ada):
    lab = namespaces.create(ada, slug="lab")
    hub.HUB_LDAP_GROUPS = [GroupRole("chemists", "lab", "owner")]
    slapd.group("chemists", grace, unit=directories.PEOPLE)
    try:
        sign_in("grace")
        assert not Membership.objects.filter(namespace=lab, user__username="grace").exists()
    finally:
        slapd.group("chemists", unit=directories.PEOPLE)


def test_a_password_there_counts_as_any(hub, grace):
    sign_in("grace")
    for _ in range(10):
        assert sign_in("grace", "wrong").status_code == 200
    assert sign_in("grace").status_code == 429


@pytest.mark.parametrize("spelling", ["GRACE", "Grace", "grace  "])
def test_every_spelling_of_the_directory_is_one_person(hub, grace, spelling):
    hub.HUB_LIMITS_SIGN_IN_ADDRESS_RATE = "1000/hour"
    for number in range(10):
        name = "grace" if number % 2 else spelling
        assert sign_in(name, "wrong").status_code == 200
    assert sign_in("gRaCe").status_code == 429


def test_one_address_cannot_try_many_people(hub, slapd):
    dns = [slapd.add(f"person{number}") for number in range(3)]
    hub.HUB_LIMITS_SIGN_IN_ADDRESS_RATE = "5/hour"
    try:
        for number in range(5):
            assert sign_in(f"person{number % 2}", "wrong").status_code == 200
        assert sign_in("person2").status_code == 429
    finally:
        for dn in dns:
            slapd.remove(dn)


def test_many_machines_cannot_guess_and_the_owner_is_not_locked_out(hub, grace):
    owner = Client()
    sign_in("grace", client=owner)
    owner.post("/logout")
    hub.HUB_LIMITS_SIGN_IN_ACCOUNT_RATE = "5/hour"
    for number in range(5):
        sign_in("grace", "wrong", REMOTE_ADDR=f"192.0.2.{number}")
    assert sign_in("grace", REMOTE_ADDR="192.0.2.99").status_code == 429
    assert sign_in("grace", client=owner).status_code == 302


def test_a_password_is_confirmed_by_the_directory(hub, grace, client):
    sign_in("grace", client=client)
    hub.HUB_SECOND_FACTOR_ROLES = ["owner"]
    namespaces.create(User.objects.get(), slug="lab")
    assert client.get("/account").url.startswith("/account/factors")
    asked = client.get("/account/factors/app")
    assert asked.url.startswith("/account/confirm")
    assert "Incorrect" in client.post(asked.url, {"password": "wrong"}).content.decode()
    assert client.post(asked.url, {"password": PASSWORD}).status_code == 302
    assert client.get("/account/factors/app").status_code == 200
    usage.notes.flush()
    assert SecurityEvent.objects.filter(kind="password_refused").count() == 1


def test_an_erased_person_is_forgotten(hub, grace, client):
    from registry.identity import account_data

    sign_in("grace", client=client)
    user = User.objects.get()
    assert DirectoryAccount.objects.get().key in "".join(account_data.export(user))
    account_data.erase(user, user=user)
    assert not DirectoryAccount.objects.exists()


def test_active_directory_has_other_attributes(hub, slapd):
    guid = uuid.UUID("2a5c2a28-295c-4a00-8c29-2a5c00ff2a28")  # with bytes of (, ), *, \\ and NUL
    dn = slapd.add("lovelace", guid=guid.bytes_le)
    hub.HUB_LDAP_ID_ATTRIBUTE, hub.HUB_LDAP_NAME_ATTRIBUTE = "objectGUID", "sAMAccountName"
    hub.HUB_LDAP_FILTER = "(&(objectClass=securityPrincipal)(sAMAccountName={name}))"
    try:
        user = user_of("lovelace-sam")
        assert (user.username, DirectoryAccount.objects.get().key) == ("lovelace-sam", str(guid))
        entry = registered.entry_of(user)
        assert entry.accepts(PASSWORD)
        assert not entry.accepts("wrong")
    finally:
        slapd.remove(dn)


# The connection.


def test_start_tls_is_demanded(hub, slapd, grace, tmp_path):
    hub.HUB_LDAP_SERVER = LdapServer(f"ldap://127.0.0.1:{slapd.port}", True)
    assert user_of("grace").username == "grace"
    directories.certify(tmp_path)
    hub.HUB_LDAP_CA = str(tmp_path / "ca.pem")
    with pytest.raises(problems.Unavailable):
        user_of("grace")


def test_a_certificate_of_another_authority_is_refused(hub, slapd, grace, tmp_path):
    directories.certify(tmp_path)
    hub.HUB_LDAP_CA = str(tmp_path / "ca.pem")
    refused = sign_in("grace")
    assert refused.status_code == 503
    assert User.objects.count() == 0


def test_a_certificate_of_another_host_is_refused(hub, slapd, grace):
    hub.HUB_LDAP_SERVER = LdapServer(f"ldaps://127.0.0.2:{slapd.tls_port}", False)
    with pytest.raises(problems.Unavailable):
        user_of("grace")


def test_a_server_without_tls_is_refused(hub, grace):
    with fake_server(plain_refusal) as port:
        hub.HUB_LDAP_SERVER = LdapServer(f"ldap://127.0.0.1:{port}", True)
        with pytest.raises(problems.Unavailable):
            user_of("grace")


def test_a_wrong_password_of_the_hub_is_no_wrong_password_of_people(hub, grace):
    hub.HUB_LDAP_BIND_PASSWORD = "another"
    for _ in range(12):
        assert sign_in("grace").status_code == 503


def test_a_directory_that_is_down_leaves_local_accounts(hub, ada):
    hub.HUB_LDAP_SERVER = LdapServer(f"ldaps://127.0.0.1:{directories.free_port()}", False)
    for _ in range(12):
        refused = sign_in("grace")
        assert refused.status_code == 503
        assert "does not answer" in refused.json()["detail"]
    browser = Client()
    assert sign_in("ada", OWN_PASSWORD, client=browser).status_code == 302
    assert whoami(browser) == "ada"
    usage.notes.flush()
    assert not SecurityEvent.objects.filter(kind="sign_in_failed").exists()


def test_a_wrong_local_password_counts_while_the_directory_is_down(hub, ada):
    hub.HUB_LDAP_SERVER = LdapServer(f"ldaps://127.0.0.1:{directories.free_port()}", False)
    for _ in range(10):
        assert sign_in("ada", "wrong").status_code == 503
    assert sign_in("ada", OWN_PASSWORD).status_code == 429
    usage.notes.flush()
    assert SecurityEvent.objects.filter(kind="sign_in_failed", actor=ada).count() == 10


def silent(connection):
    connection.recv(1000)


def partial(connection):
    connection.recv(1000)
    connection.sendall(b"\x30\x0c\x02")


def plain_refusal(connection):
    """An extended response: protocolError, as of a server that knows no StartTLS."""
    connection.recv(1000)
    connection.sendall(bytes.fromhex("300c02010178070a010204000400"))


@contextmanager
def fake_server(answer):
    """A server that gives one answer to each connection, and holds it open."""
    held = []
    server = socket.create_server(("127.0.0.1", 0))

    def accept():
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            held.append(connection)
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield server.getsockname()[1]
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        for connection in held:
            connection.close()


@pytest.mark.parametrize("answer", [silent, partial])
@pytest.mark.parametrize("scheme", ["ldap", "ldaps"])
def test_a_server_that_does_not_answer_takes_five_seconds(hub, ada, answer, scheme):
    with fake_server(answer) as port:
        hub.HUB_LDAP_SERVER = LdapServer(f"{scheme}://127.0.0.1:{port}", False)
        started = time.monotonic()
        assert sign_in("grace").status_code == 503
        assert 4 < time.monotonic() - started < 7


def test_callers_of_a_silent_server_are_soon_refused_at_once(hub, monkeypatch):
    from registry.identity import ldap_directory

    monkeypatch.setattr(ldap_directory, "SECONDS", 0.3)
    with fake_server(silent) as port:
        hub.HUB_LDAP_SERVER = LdapServer(f"ldaps://127.0.0.1:{port}", False)
        for _ in range(3):
            sign_in("grace")
        started = time.monotonic()
        assert sign_in("grace").status_code == 503
        assert time.monotonic() - started < 0.2


# Settings.


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("ldaps://ldap.example.org", LdapServer("ldaps://ldap.example.org:636", False)),
        ("ldap://ldap.example.org", LdapServer("ldap://ldap.example.org:389", True)),
        ("ldap+plain://127.0.0.1:3890", LdapServer("ldap://127.0.0.1:3890", False)),
        ("ldaps://[fd00::1]", LdapServer("ldaps://[fd00::1]:636", False)),
        ("", None),
    ],
)
def test_addresses_of_servers(url, server):
    environment = Environment({"HUB_LDAP_URL": url})
    assert environment.ldap("HUB_LDAP_URL") == server
    assert not environment.faults


@pytest.mark.parametrize(
    "url",
    ["ldap.example.org", "http://ldap", "ldaps://", "ldaps://h:x", "ldaps://h/dc=x", "ldaps://h?x",
     "ldaps://hub:secret@h"],
)  # fmt: skip
def test_addresses_that_are_none(url):
    environment = Environment({"HUB_LDAP_URL": url})
    assert environment.ldap("HUB_LDAP_URL") is None
    assert "HUB_LDAP_BASE" in str(environment.faults[0])
    assert "secret" not in str(environment.faults[0])
