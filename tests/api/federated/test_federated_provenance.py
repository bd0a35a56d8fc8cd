"""Contributions as linked data: by pseudonym for maintainers, nowhere for anybody else."""

from __future__ import annotations

import re

import pytest

from metadata.rdf import terms
from registry.federated.models import Contribution
from tests import factories, learning

pytestmark = [pytest.mark.capability("federated"), pytest.mark.django_db]

ADDRESS = "models/ada/net/trainings/1/rounds/1/provenance"
HUB = "http://testserver/ns#"


@pytest.fixture
def devices(api, ada):
    training = learning.training(ada, factories.version(ada, factories.model(ada)))
    code = learning.invited(ada, training)
    made = [learning.Device(api, training, code) for _ in range(3)]
    for device, value in zip(made, (0.1, 0.2, 0.3), strict=True):
        device.push(device.task(), learning.tensors(value))
    learning.work(refuse={made[1].name: "non-finite"})
    return made


def told(api, user):
    answer = api(user).get(ADDRESS)
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/n-quads")
    assert answer["Cache-Control"] == "private, no-store"
    return b"".join(answer).decode().splitlines()


def test_each_contribution_is_an_entity_in_a_graph_of_its_own(api, ada, devices):
    lines = told(api, ada)
    names = [device.name for device in devices]
    home = "http://testserver/models/ada/net/trainings/1/rounds/1/contributions"
    graphs = {line.rpartition(" <")[2] for line in lines}
    assert graphs == {f"{home}/{name}/metadata> ." for name in names}
    for row in Contribution.objects.select_related("participant"):
        here = f"<{home}/{row.participant.pseudonym}>"
        assert any(
            line.startswith(f"{here} <{terms.RDF}type> <{terms.PROV}Entity>") for line in lines
        )
        assert any(f'{here} <{HUB}signature> "{row.signature}"' in line for line in lines)
        assert any(f'"{row.sha256}"^^' in line for line in lines)
        assert any(f'<{HUB}publicKey> "{row.participant.public_key}"' in line for line in lines)
    (left,) = [line for line in lines if f"<{HUB}reason>" in line]
    assert (names[1] in left, '"non-finite"' in left) == (True, True)
    used = {line.split()[2] for line in lines if f"<{terms.PROV}used>" in line}
    assert used == {f"<{home}/{names[0]}>", f"<{home}/{names[2]}>"}


def test_only_own_terms_that_are_declared(api, ada, devices):
    used = {match for line in told(api, ada) for match in re.findall(rf"<{HUB}(\w+)>", line)}
    assert {"Contribution", "manifest", "signature", "publicKey"} <= used <= terms.OWN


def test_nobody_else_gets_it(api, bob, devices):
    assert api(bob).get(ADDRESS).status_code == 403
    assert api().get(ADDRESS).status_code == 401
    assert devices[0].api.get(ADDRESS).status_code == 401
