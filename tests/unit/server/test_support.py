"""What `hub support` writes: the state of the hub, and nothing that is secret or names anything."""

from __future__ import annotations

import json
import stat
import zipfile

import pytest

from hub.server import environment, support
from runners.models import Job
from tests import factories
from tests.unit.server.test_start import run

DOWN = {
    "DATABASE_URL": "postgres://marker-user:marker%2Fpassword@marker-host.invalid:5432/marker-name",
    "REDIS_URL": "redis://:marker-redis@127.0.0.1:1/0",
}


def contents(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


@pytest.fixture
def not_strict(monkeypatch):
    monkeypatch.setattr(environment.env, "is_strict", environment.env.is_strict)


@pytest.mark.django_db
def test_the_state_is_whole_and_names_nothing(tmp_path, not_strict, capsys):
    ada = factories.user("ada-lovelace")
    version = factories.published(ada, factories.model(ada, "secret-vault", visibility="private"))
    Job.objects.create(
        version=version, kind="check", key="a" * 64, state=Job.State.FAILED, error_class="crash",
        message="vault.onnx", error_detail="secret-vault broke", entry="vault.onnx",
    )  # fmt: skip
    path = tmp_path / "state.zip"
    assert support.main([str(path)]) == 0
    assert capsys.readouterr().out == f"{path}\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    files = contents(path)
    parts = {name: json.loads(files[name]) for name in files if name.endswith(".json")}
    assert not [name for name, part in parts.items() if isinstance(part, dict) and "error" in part]
    assert parts["tables.json"]["registry_registeredmodel"] == 1
    assert parts["database.json"]["pending_migrations"] == []
    assert [job["error_class"] for job in parts["failed-jobs.json"]] == ["crash"]
    assert "hub_database_seconds" in files["metrics.txt"]
    text = "".join(files.values())
    for name in ("lovelace", "vault", version.files.first().blob_id):
        assert name not in text
    with pytest.raises(FileExistsError):
        support.main([str(path)])


def test_no_text_of_a_setting_stands_in_it_while_backends_are_down(tmp_path):
    texts = dict.fromkeys(environment.env.private - {"HUB_HOME"} - DOWN.keys(), "marker-text")
    path = tmp_path / "state.zip"
    variables = texts | DOWN | {"HUB_LIMITS_FILES": "marker-number", "HUB_STORAGE_URL": "file:///m"}
    done = run(["-m", "hub", "support", str(path)], tmp_path, **variables)
    assert done.returncode == 0, done.stderr
    files = contents(path)
    settings = json.loads(files["settings.json"])
    assert {settings[name] for name in variables} == {"set"}
    assert json.loads(files["tables.json"]) == {"error": "OperationalError"}
    assert "hub.E010" in files["checks.json"]
    assert "<DATABASE_URL>" in files["checks.json"]
    assert "marker" not in "".join(files.values())
    assert str(tmp_path) not in "".join(files.values())
