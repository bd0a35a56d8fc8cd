"""The rules of passwords, and a bound on how many are hashed at once."""

from __future__ import annotations

import threading
from io import StringIO

import pytest
from django.contrib.auth.hashers import check_password, make_password
from django.contrib.auth.management.commands.changepassword import Command
from django.core.management import CommandError, call_command

from hub.protocol import problems
from registry.models import User
from registry.people import passwords
from registry.people.services import users

HASHER = "registry.people.passwords.BoundedPasswordHasher"


@pytest.fixture
def one_place(settings, monkeypatch):
    """The hasher of production with a single place, which nobody waits for."""
    settings.PASSWORD_HASHERS = [HASHER]
    monkeypatch.setattr(passwords, "WAIT_SECONDS", 0.01)
    made = passwords.places_for(1)
    monkeypatch.setattr(passwords, "places", lambda: made)
    return made


def test_settings_name_the_bounded_hasher():
    from hub.server import settings

    assert settings.PASSWORD_HASHERS == [HASHER]
    assert settings.AUTHENTICATION_BACKENDS == ["registry.api.sign_in.CountingBackend"]


def test_hashes_of_django_stay_good(settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher"]
    old = make_password("secret")
    settings.PASSWORD_HASHERS = [HASHER]
    assert check_password("secret", old)
    assert not check_password("other", old)


@pytest.mark.django_db
def test_a_full_house_refuses_every_place_that_hashes(client, api, ada, admin, one_place):
    form = {"username": "ada", "password": "wrong"}
    new = "another long password"
    change = {"old_password": "x", "new_password1": new, "new_password2": new}
    client.force_login(ada)
    with one_place.hold():
        answers = [
            client.post("/account/password", change),
            *[type(client)().post("/login", form | {"username": name}) for name in ("ada", "none")],
            api(admin).post("users/ada/password"),
            api(admin).post("users", {"username": "eve"}),
        ]
    for answer in answers:
        assert answer.status_code == 503
        assert answer.json()["type"].endswith("/problems/unavailable")
        assert answer["Retry-After"] == str(passwords.RETRY_SECONDS)
    assert not type(ada).objects.filter(username="eve").exists()
    # A try that was not looked at is no failed try.
    for _ in range(10):
        with one_place.hold():
            assert type(client)().post("/login", form).status_code == 503
    assert type(client)().post("/login", form).status_code == 200


@pytest.mark.django_db
def test_a_name_that_nobody_has_costs_as_much_as_any_other(client, ada, settings, monkeypatch):
    settings.PASSWORD_HASHERS = [HASHER]
    ada.set_password("a long enough password")
    ada.save()
    hashed = []
    encode = passwords.BoundedPasswordHasher.encode

    def count(hasher, password, salt, iterations=None):
        hashed.append(iterations or hasher.iterations)
        return encode(hasher, password, salt, iterations)

    monkeypatch.setattr(passwords.BoundedPasswordHasher, "encode", count)
    costs = {}
    for name in ("ada", "nobody"):
        assert client.post("/login", {"username": name, "password": "x"}).status_code == 200
        costs[name] = list(hashed)
        hashed.clear()
    assert costs["ada"] == costs["nobody"] != []


def test_few_threads_wait(monkeypatch):
    monkeypatch.setattr(passwords, "WAIT_SECONDS", 30)
    places = passwords.places_for(2)
    inside, go_on = threading.Semaphore(0), threading.Event()
    passed, refused = [], []

    def hold():
        try:
            with places.hold():
                inside.release()
                go_on.wait(30)
                passed.append(1)
        except problems.Unavailable:
            refused.append(1)
            inside.release()

    threads = [threading.Thread(target=hold) for _ in range(24)]
    for thread in threads:
        thread.start()
    for _ in range(24 - 4):  # two hold, four wait and say nothing, the rest is refused at once
        assert inside.acquire(timeout=30)
    assert len(refused) == 18
    go_on.set()
    for thread in threads:
        thread.join(30)
    assert len(passed) == 6


@pytest.mark.parametrize(
    ("password", "words"),
    [
        ("fourteen chars", "at least 15"),
        ("password1234567!", "common one"),
        ("!!!letmein12345678", "common one"),
        ("OnnxModelHub-2026", "little more than a name"),
        ("testserver testserver", "little more than a name"),
        ("ada.lovelace@example.org", "little more than a name"),
        ("Lovelace-Lovelace-7", "little more than a name"),
        ("123456789123456", "too common"),
        ("x" * 1001, "at most 1,000"),
    ],
)
def test_a_weak_password_is_refused(password, words, settings):
    user = User(username="ada", email="ada.lovelace@example.org")
    with pytest.raises(problems.InvalidRequest, match=words):
        passwords.expect(password, user)


@pytest.mark.parametrize(
    "password",
    [
        "fifteen letters",
        "hub of correct horses",
        "ada has a battery",
        "x" * 1000,
        "528491637205183",
        "мой верный пароль",
        "          \U0001f510     ",
    ],
)
def test_a_long_password_is_good(password):
    passwords.expect(password, User(username="ada", email="ada@example.org"))


@pytest.mark.django_db
def test_no_service_or_command_sets_a_weak_password(ada, monkeypatch):
    before = ada.password
    with pytest.raises(problems.InvalidRequest):
        users.create(username="eve", password="too short")
    with pytest.raises(problems.InvalidRequest):
        users.change_password(ada, password="too short", revoke_tokens=False)
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", "too short")
    with pytest.raises(CommandError, match="at least 15"):
        call_command("createsuperuser", username="eve", email="", interactive=False, verbosity=0)
    command = Command(stderr=StringIO())
    command._get_pass = lambda *_, **__: "too short"
    with pytest.raises(CommandError):
        call_command(command, "ada", stdout=StringIO())
    ada.refresh_from_db()
    assert ada.password == before
    assert not User.objects.filter(username="eve").exists()
