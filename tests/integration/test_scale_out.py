"""Three web and three worker machines that share services alone, of which some are killed."""

from __future__ import annotations

import shutil

import pytest

from benchmarks.scale_out import disturb
from tests import ceph
from tests.load import Load
from tests.machines import Machines

pytestmark = pytest.mark.skipif(shutil.which("caddy") is None, reason="caddy is not installed")

SECONDS = 60
CLIENTS = {"push": 1, "resume": 1, "lfs": 1, "download": 1, "page": 1, "sparql": 1}


def test_nothing_is_lost_when_machines_die_under_load(tmp_path, database, redis, cluster):
    machines = Machines(
        tmp_path / "machines",
        DATABASE_URL=database,
        REDIS_URL=redis.url,
        HUB_STORAGE_URL=f"s3://{ceph.BUCKET}/scale-out",
        **cluster.environment,
    )
    try:
        machines.start()
        cache = tmp_path / "cache"
        cache.mkdir()
        load = Load(machines.address, machines.token, cache)
        load.start(**CLIENTS)
        try:
            kills = disturb(machines, SECONDS, SECONDS / 4)
        finally:
            load.stop()
        assert kills >= 2
        assert load.published
        assert len(load.files) > len(load.published)
        assert [*load.failures, *load.lost(), *machines.faults()] == []
    finally:
        machines.stop()
