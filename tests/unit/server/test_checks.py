"""Unsafe production settings are refused by name."""

from __future__ import annotations

from types import SimpleNamespace

from hub.server.checks import check_production


def ids():
    return {message.id for message in check_production()}


def on(monkeypatch, vendor):
    monkeypatch.setattr("hub.server.checks.connection", SimpleNamespace(vendor=vendor))


def test_a_laptop_is_told_what_production_wants(settings, monkeypatch):
    on(monkeypatch, "sqlite")
    settings.HUB_PUBLIC_URL = "http://127.0.0.1:8000"
    settings.REDIS_URL = ""
    assert ids() == {"hub.E003", "hub.W001", "hub.W002"}


def test_the_internet_is_refused_without_tls_or_with_tracebacks(settings):
    settings.HUB_PUBLIC_URL = "http://hub.example.org"
    settings.DEBUG = True
    settings.HUB_LIMITS_FILE_BYTES = 0
    settings.HUB_GRID_REGION = "ZZZ"
    assert {"hub.E001", "hub.E002", "hub.E004", "hub.E005"} <= ids()


def test_a_sound_production_is_let_through(settings, monkeypatch):
    on(monkeypatch, "postgresql")
    settings.HUB_PUBLIC_URL = "https://hub.example.org"
    settings.HUB_SANDBOX_REQUIRED = "full"
    settings.REDIS_URL = "redis://cache/0"
    assert ids() == set()


def test_the_sandbox_of_a_container_is_let_through_with_a_warning(settings, monkeypatch):
    on(monkeypatch, "postgresql")
    settings.HUB_PUBLIC_URL = "https://hub.example.org"
    settings.REDIS_URL = "redis://cache/0"
    settings.HUB_SANDBOX_REQUIRED = "partial"
    assert ids() == {"hub.W003"}
