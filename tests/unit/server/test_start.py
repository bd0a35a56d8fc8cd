"""A process that cannot work says why in a line for each reason, without a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from django.core.checks import run_checks
from django.db import OperationalError

from hub.server import backends, start

PYTHON = [sys.executable, "-W", "ignore"]
STARTS = {
    "serve": ["-m", "hub", "serve", "--port", "0", "--no-worker"],
    "worker": ["-m", "hub", "worker"],
    "graphs": ["-m", "hub", "graphs"],
    "web": ["-m", "gunicorn", "--config", "python:hub.server.web", "--workers", "2"],
    "celery worker": ["-m", "celery", "-A", "hub.server.celery", "worker"],
    "beat": ["-m", "celery", "-A", "hub.server.celery", "beat"],
    "check": ["-m", "hub", "manage", "check"],
    "migrate": ["-m", "hub", "manage", "migrate"],
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


def run(arguments, home, **variables):
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HUB_", "REDIS", "DATABASE", "DJANGO", "AWS", "PROMETHEUS"))
    }
    return subprocess.run(
        [*PYTHON, *arguments],
        env=kept | {"HUB_HOME": str(home)} | variables,
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize("name", STARTS)
def test_settings_that_cannot_be_used_end_every_start(name, home):
    done = run(STARTS[name], home, HUB_DRAIN_SECONDS="soon", HUB_STORAGE="s3")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "hub: HUB_DRAIN_SECONDS is 'soon', no number. Correct it, or unset it for 0.0.",
        "hub: HUB_STORAGE is no setting. Did you mean HUB_STORAGE_URL? Rename or unset it.",
    ]


@pytest.mark.capability("s3")
@pytest.mark.parametrize("name", ["serve", "web", "worker", "graphs", "celery worker", "beat"])
def test_a_storage_without_its_package_ends_every_start(name, home, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['botocore'] = None")
    variables = {"HUB_STORAGE_URL": "s3://models/production", "PYTHONPATH": str(tmp_path)}
    if name in ("celery worker", "beat"):
        variables["REDIS_URL"] = "redis://127.0.0.1:1/0"
    done = run(STARTS[name], home, **variables)
    assert done.returncode
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("hub:")]
    assert "needs botocore, which is not installed. Run pip install 'onnx-hub[s3]'." in line
    assert "Traceback" not in done.stderr


def test_beat_keeps_its_schedule_in_the_folder_of_the_hub(home):
    code = "from hub.server.celery import app; print(app.conf.beat_schedule_filename)"
    assert run(["-c", code], home).stdout.strip() == str(home / "celerybeat-schedule")


def test_a_hub_without_its_database_does_not_start(home):
    done = run(STARTS["serve"], home, DATABASE_URL="postgres://hub:secret@127.0.0.1:1/hub")
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("hub:")]
    assert line.startswith("hub: The database cannot be used: connection to server at")
    assert "secret" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", [["migrate"], ["check", "--database", "default"]])
def test_commands_for_the_database_name_it_without_a_traceback(command, home):
    url = "postgres://hub:secret@127.0.0.1:1/hub"
    done = run(["-m", "hub", "manage", *command], home, DATABASE_URL=url)
    assert done.returncode == 1
    assert "(hub.E010) The database cannot be used: connection to server at" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_doctor_names_everything_with_its_cure(home):
    done = run(
        ["-m", "hub", "doctor"],
        home,
        DATABASE_URL="postgres://hub:secret@127.0.0.1:1/hub",
        REDIS_URL="redis://127.0.0.1:1/0",
        HUB_STORAGE_URL="file:///proc/none",
        HUB_LIMITS_FILES="lots",
        HUB_PORT_TCP="x",
        HUB_PUBLIC_URL="https://hub.example.org",
    )
    assert done.returncode == 1
    for name in ("E009", "E010", "E011", "E012", "W006", "W009"):
        assert f"(hub.{name})" in done.stdout
    assert done.stdout.count("  cure: ") == 6
    assert "secret" not in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("name", "value"), [("HUB_PUBLIC_URL", "hub.example.org"), ("HUB_STORAGE_URL", "ftp://files")]
)
def test_the_doctor_names_a_wrong_setting_once(name, value, tmp_path):
    done = run(["-m", "hub", "doctor"], tmp_path, **{name: value})
    assert done.stdout.count(name) == 1, done.stdout
    assert "errors: 1, warnings: 0" in done.stdout


def test_the_doctor_asks_for_nothing_that_no_setting_changes(tmp_path):
    done = run(
        ["-m", "hub", "doctor", "--deploy"],
        tmp_path,
        HUB_PUBLIC_URL="https://hub.example.org",
        HUB_PROXIES="1",
        HUB_SANDBOX_REQUIRED="full",
        HUB_SECRET_KEY="0123456789" * 6,
    )
    assert "(security." not in done.stdout


def test_the_doctor_finds_nothing_wrong_with_a_new_hub(tmp_path):
    done = run(["-m", "hub", "doctor", "--home", str(tmp_path)], tmp_path)
    assert (done.returncode, done.stdout) == (0, "errors: 0, warnings: 0\n")
    assert not (tmp_path / "hub.sqlite3").exists()


@pytest.fixture
def postgresql(monkeypatch):
    """A database that does not answer."""

    def refuse():
        raise OperationalError("connection refused\nIs the server running?")

    monkeypatch.setattr(backends, "ask_database", refuse)
    monkeypatch.setattr(backends, "connection", SimpleNamespace(vendor="postgresql"))


def test_a_backend_that_is_down_is_a_warning_unless_it_is_needed(postgresql, capsys):
    start.check()
    start.warn()
    line = "The database cannot be used: connection refused."
    assert f"hub: warning: {line}" in capsys.readouterr().err
    start.check({backends.Backend.STORAGE})
    with pytest.raises(SystemExit) as ended:
        start.check({backends.Backend.DATABASE})
    assert ended.value.code == 1
    assert f"hub: {line}" in capsys.readouterr().err


def test_of_several_web_workers_one_warns(monkeypatch, tmp_path):
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    assert [start.is_first() for _ in range(3)] == [True, False, False]


@pytest.mark.parametrize(
    ("url", "proxies", "certificates", "names"),
    [
        ("https://hub.example.org", 0, [], {"hub.W006"}),
        ("https://hub.example.org", 1, ["10.0.0.7/32"], set()),
        ("http://127.0.0.1:8000", 1, [], {"hub.W007"}),
        ("http://127.0.0.1:8000", 0, [], set()),
        ("http://127.0.0.1:8000", 0, ["10.0.0.7/32"], {"hub.W008"}),
    ],
)
def test_settings_of_proxies_that_contradict_each_other(
    settings, url, proxies, certificates, names
):
    settings.HUB_PUBLIC_URL, settings.HUB_PROXIES = url, proxies
    settings.HUB_CERTIFICATE_PROXIES = certificates
    found = {each.id for each in run_checks(tags=[start.CHECKS])}
    assert found - {"hub.W009"} == names
