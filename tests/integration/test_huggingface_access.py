"""huggingface_hub, as it is released, with gated models and models that move."""

from __future__ import annotations

import json

import pytest

from tests import samples
from tests.faults.conftest import Hub, wait_for
from tests.integration.test_huggingface import HERE, environment, python, run

__all__ = ["python"]  # the fixture: one environment for each release


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A hub with somebody who owns nothing in it."""
    made = Hub(
        tmp_path_factory.mktemp("access") / "home",
        HUB_LIMITS_STAGE_SECONDS="60",
        HUB_LIMITS_LEASE_SECONDS="60",
    )
    made.stranger = made.run_inside(
        "from registry.people.services import tokens, users\n"
        "somebody = users.create(username='reader', password='a long enough password')\n"
        "print(tokens.issue(somebody, name='t', scopes=['read'], namespace=None)[1])"
    )
    yield made
    made.stop()


def test_gates_and_moves(hub, python, tmp_path):
    name = f"net-{python.parent.parent.name}".replace(".", "-")
    path = hub.draft(name, samples.mlp())
    hub.call("PUT", f"{path}/files/config.json", {"blob": hub.store(b"{}")})
    hub.call("POST", f"{path}/submit", {"publish": True})
    wait_for(lambda: hub.state(path) == "published", "the model to be published", 180)
    given = environment(hub, tmp_path) | {
        "STRANGER": hub.stranger, "REPO": f"zoo/{name}", "NEW": f"zoo/{name}-now",
    }  # fmt: skip
    said = json.loads(run([python, HERE / "clients" / "access.py"], given).strip().splitlines()[-1])
    assert dict.fromkeys(said, True) == said
