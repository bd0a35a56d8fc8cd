"""Unsafe production settings are refused by name."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from hub.server.checks import check_production
from registry.storage.s3 import part_sizes


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


def share(settings, home):
    """What machines of one hub have in common."""
    settings.HUB_HOME = home
    settings.HUB_STORAGE_URL = "s3://models/production"


def test_a_key_and_a_folder_of_one_machine_are_named(settings, monkeypatch, tmp_path):
    on(monkeypatch, "postgresql")
    settings.HUB_PUBLIC_URL = "https://hub.example.org"
    settings.HUB_SANDBOX_REQUIRED = "full"
    settings.REDIS_URL = "redis://cache/0"
    settings.HUB_HOME = tmp_path
    settings.HUB_STORAGE_URL = (tmp_path / "storage").as_uri()
    (tmp_path / "secret-key").touch()
    assert ids() == {"hub.W004", "hub.W005"}
    on(monkeypatch, "sqlite")
    assert ids() == {"hub.W001"}


def test_a_sound_production_is_let_through(settings, monkeypatch, tmp_path):
    on(monkeypatch, "postgresql")
    share(settings, tmp_path)
    settings.HUB_PUBLIC_URL = "https://hub.example.org"
    settings.HUB_SANDBOX_REQUIRED = "full"
    settings.REDIS_URL = "redis://cache/0"
    assert ids() == set()


def test_the_sandbox_of_a_container_is_let_through_with_a_warning(settings, monkeypatch, tmp_path):
    on(monkeypatch, "postgresql")
    share(settings, tmp_path)
    settings.HUB_PUBLIC_URL = "https://hub.example.org"
    settings.REDIS_URL = "redis://cache/0"
    settings.HUB_SANDBOX_REQUIRED = "partial"
    assert ids() == {"hub.W003"}


@pytest.mark.capability("s3")
@pytest.mark.parametrize(
    ("part", "file"),
    [(5 * 2**20 - 1, 10**9), (0, 10**9), (5 * 2**30 + 1, 10**9), (8 * 2**20, 10**12)],
    ids=["below 5 MiB", "none", "above 5 GiB", "too many parts"],
)
def test_parts_that_s3_refuses_are_refused_when_the_hub_is_set_up(settings, part, file):
    settings.HUB_LIMITS_PUT_BYTES, settings.HUB_LIMITS_FILE_BYTES = part, file
    assert part_sizes.check() == []  # a folder takes them
    settings.HUB_STORAGE_URL = "s3://models/production"
    with pytest.raises(SystemCheckError, match=f"HUB_LIMITS_PUT_BYTES={part} does not suit S3"):
        call_command("check")
    settings.HUB_LIMITS_PUT_BYTES = max(5 * 2**20, file // 10_000)
    call_command("check")
