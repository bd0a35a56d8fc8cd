"""A secret key is exchanged: with the former one as a fallback nothing that it signed is lost."""

from __future__ import annotations

import pytest
from django.contrib.sessions.models import Session
from django.core import signing
from django.core.management import CommandError, call_command
from django.test import Client

from hub.protocol import problems
from registry.mirrors import credentials
from registry.mirrors.services import mirrors
from registry.models import Mirror
from tests import factories

pytestmark = pytest.mark.django_db
FORMER, PRESENT = "a former secret key " * 3, "the present secret key " * 3
SOURCE = "https://hub.example.org"


@pytest.fixture
def former(settings):
    """The hub before the exchange."""
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = FORMER, []


def exchange(settings, *fallbacks):
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = PRESENT, list(fallbacks)


@pytest.fixture
def sealed(former, ada, settings):
    """Two mirrors whose tokens are encrypted with the former key."""
    settings.HUB_MIRROR_SOURCES = [SOURCE]
    space = factories.namespace(ada)
    for name in ("a", "b"):
        source = f"{SOURCE}/zoo/{name}"
        mirrors.add(ada, source=source, namespace=space, token=f"secret-{name}")
    return space


def read():
    return {row.selector: credentials.unseal(row.sealed_token) for row in Mirror.objects.all()}


def test_a_session_of_the_former_key_goes_on_and_a_read_does_not_write_it(former, ada, settings):
    browser = Client()
    browser.force_login(ada)
    exchange(settings, FORMER)
    (row,) = Session.objects.values_list()
    for _ in range(2):
        assert browser.get("/account").status_code == 200
        assert Session.objects.values_list().get() == row
    assert browser.post("/api/v1/tokens", {}, content_type="application/json").status_code == 400
    assert Session.objects.values_list().get() != row  # written with the present key
    exchange(settings)
    assert browser.get("/account").status_code == 200


def test_a_session_without_a_fallback_ends(former, ada, settings):
    browser = Client()
    browser.force_login(ada)
    exchange(settings)
    assert browser.get("/account").status_code == 302


def test_signed_addresses_of_the_former_key_are_read(former, settings):
    text = signing.dumps({"upload": "1"}, salt="lfs")
    exchange(settings, FORMER)
    assert signing.loads(text, salt="lfs") == {"upload": "1"}


@pytest.mark.capability("mirrors")
def test_tokens_are_read_and_then_encrypted_with_the_present_key(sealed, settings, capsys):
    exchange(settings, FORMER)
    assert read() == {"zoo/a": "secret-a", "zoo/b": "secret-b"}
    call_command("renew_mirror_tokens")
    assert capsys.readouterr().out == (
        "2 tokens encrypted with the present key, 0 had it already\n"
    )
    exchange(settings)
    assert read() == {"zoo/a": "secret-a", "zoo/b": "secret-b"}
    call_command("renew_mirror_tokens")
    assert capsys.readouterr().out == (
        "0 tokens encrypted with the present key, 2 had it already\n"
    )


@pytest.mark.capability("mirrors")
def test_an_interrupted_renewal_is_continued(sealed, settings, monkeypatch):
    exchange(settings, FORMER)
    renewed, calls = credentials.renewed, []

    def stop_at_the_second(text):
        calls.append(text)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return renewed(text)

    with monkeypatch.context() as patched:
        patched.setattr(credentials, "renewed", stop_at_the_second)
        with pytest.raises(KeyboardInterrupt):
            mirrors.renew_tokens()
    assert read() == {"zoo/a": "secret-a", "zoo/b": "secret-b"}
    renewal = mirrors.renew_tokens()
    assert (renewal.renewed, renewal.current) == (1, 1)
    exchange(settings)
    assert read() == {"zoo/a": "secret-a", "zoo/b": "secret-b"}


@pytest.mark.capability("mirrors")
def test_a_token_that_is_set_meanwhile_stays(sealed, settings, monkeypatch):
    exchange(settings, FORMER)
    renewed = credentials.renewed

    def set_another(text):
        Mirror.objects.update(sealed_token=credentials.seal("another"))
        return renewed(text)

    monkeypatch.setattr(credentials, "renewed", set_another)
    mirrors.renew_tokens()
    assert set(read().values()) == {"another"}


@pytest.mark.capability("mirrors")
def test_a_token_that_no_key_opens_is_named(sealed, settings):
    exchange(settings)
    before = list(Mirror.objects.values_list("sealed_token", flat=True))
    with pytest.raises(CommandError, match=r"of lab, .* of lab.*HUB_SECRET_KEY_FALLBACKS"):
        call_command("renew_mirror_tokens")
    assert list(Mirror.objects.values_list("sealed_token", flat=True)) == before
    with pytest.raises(problems.NotAuthenticated, match="HUB_SECRET_KEY_FALLBACKS"):
        read()
