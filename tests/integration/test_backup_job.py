"""The backups of docker/chart: what its CronJob runs, done, and a hub restored from that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests import samples
from tests.faults.conftest import ROOT, Hub, own_environment
from tests.integration import charts
from tests.integration.test_backups import (
    Restored,
    another_database,
    drop,
    manage,
    published,
    push,
)

pytestmark = charts.needs_helm
KEPT = 2


class Pod:
    """The pod of the CronJob, with folders of this machine in the place of its volumes."""

    def __init__(self, folder, secrets):
        values = {"domain": "hub.example.org", "secrets": secrets, "storage": {"claim": "models"}}
        values["backups"] = {"claim": "backups", "keep": KEPT}
        documents = charts.render(values)
        self.pod = dict(charts.templates(documents))["CronJob", "hub-backup"]["spec"]
        self.environment = documents["ConfigMap", "hub"]["data"]
        self.environment |= documents["Secret", "hub"]["stringData"]
        self.environment = {
            name: self.local(value, folder) for name, value in self.environment.items()
        }
        self.folder = folder

    @staticmethod
    def local(text, folder):
        for place in ("/srv/blobs", "/srv/backups"):
            text = text.replace(place, f"{folder}{place}")
        return text

    def run(self):
        """Run all containers, one after another, as their pod does; returns what they printed."""
        output = ""
        for container in (*self.pod["initContainers"], *self.pod["containers"]):
            arguments = [self.local(argument, self.folder) for argument in container["args"]]
            done = subprocess.run(
                ["sh", ROOT / "docker/entrypoint.sh", *arguments],
                cwd=ROOT, check=False, capture_output=True, text=True,
                env=own_environment() | self.environment | {
                    "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
                    "DJANGO_SETTINGS_MODULE": "hub.server.settings",
                    "HUB_HOME": str(self.folder / "pod"),
                },
            )  # fmt: skip
            assert done.returncode == 0, done.stdout + done.stderr
            output += done.stdout
        return output


def test_a_hub_is_restored_from_the_backups_of_the_chart(database, redis, tmp_path):
    secrets = {"DATABASE_URL": database, "REDIS_URL": redis.url, "HUB_SECRET_KEY": "x7" * 40}
    pod = Pod(tmp_path, secrets)
    (tmp_path / "srv/blobs").mkdir(parents=True)
    shared = {name: pod.environment[name] for name in (*secrets, "HUB_STORAGE_URL")}
    hub = Hub(tmp_path / "home", options=["--workers", "1"], **shared)
    try:
        for number in range(KEPT + 1):
            push(hub, tmp_path, f"net-{number}", samples.unlike_others(samples.mlp()))
            before = published(hub)
            output = pod.run()
            assert "backup 2" in output
        assert "1 old backup removed" in output
    finally:
        hub.stop()
    assert len(list((tmp_path / "srv/backups/backups").iterdir())) == KEPT
    second = another_database(database)
    shared |= {"DATABASE_URL": second, "HUB_STORAGE_URL": (tmp_path / "other-blobs").as_uri()}
    environment = own_environment() | shared | {"HUB_BENCH": "off"}
    try:
        home = tmp_path / "other"
        assert " restored: " in manage(home, environment, "restore", str(tmp_path / "srv/backups"))
        restored = Restored(home, hub.token, environment)
        try:
            assert published(restored) == before
            assert len(before) == KEPT + 1
        finally:
            restored.stop()
    finally:
        drop(second)
