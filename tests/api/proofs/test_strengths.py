"""One law chooses upgraded variants by the strength of their proof, whoever asks for an opset."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

import pyoxigraph
import pytest
from django.contrib.auth.models import AnonymousUser

from hub.protocol import problems
from hub.protocol.proofs import SUFFICIENT, Branch, Proof, Strength
from metadata.models import NamedGraph
from metadata.sparql import listing
from registry.catalogue import search
from registry.catalogue.query import Query
from registry.core import outbox
from registry.models import Variant
from registry.versions import selectors
from tests import factories, proven

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("lists", "graphs"),
    pytest.mark.capability("onnx_hub"),
]
MISSED = Branch("If_3", "If", "else_branch", 2, taken=False)
PROOFS = {
    Strength.CERTIFIED: proven.PROOF,
    Strength.SAMPLED: proven.SAMPLED,
    Strength.SCHEMA: Proof(("schema-registry",)),
    Strength.PARTIAL: replace(proven.PROOF, branches=(MISSED,)),
    Strength.EARLIER_METHOD: None,
}
UPGRADED = Query.of(evidence=("upgrade",))


@pytest.fixture
def version(ada):
    return factories.published(ada)


def resolve(api, version, **options):
    query = urlencode({"ref": version.ref, "opset": 26, **options})
    return api().get(f"/api/v1/resolve?{query}")


def resolved(api, version, **options):
    """The name of the variant that is resolved for the opset; empty if none is."""
    answer = resolve(api, version, **options)
    return answer.json()["variant"]["name"] if answer.status_code == 200 else ""


def chosen_of(version, strength=None):
    try:
        return selectors.variant(version, None, 26, None, strength).name
    except problems.VariantMissing:
        return ""


def of_manifest(api):
    """The models of the manifest of onnx.hub at the opset."""
    answer = api().get("/onnx-hub/onnx/models/main/ONNX_HUB_MANIFEST.json")
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return {row["model"] for row in json.loads(content) if row["opset_version"] == 26}


def of_graphs():
    store = pyoxigraph.Store()
    for text in NamedGraph.objects.values_list("nquads", flat=True):
        store.load(text.encode(), format=pyoxigraph.RdfFormat.N_QUADS)
    query = listing.of(UPGRADED, "http://testserver").query
    return [row["name"].value for row in store.query(query, use_default_graph_as_union=True)]


def of_list():
    return [f"{row.model.ref}" for row in search.find(AnonymousUser(), UPGRADED).items]


@pytest.mark.parametrize("default", SUFFICIENT)
@pytest.mark.parametrize("strength", Strength)
def test_every_surface_makes_the_same_choice(api, version, settings, strength, default):
    settings.HUB_PROOF_STRENGTH = str(default)
    proof = PROOFS[strength]
    proven.upgrade(version, target=26, proof=None if proof is None else proof.to_json())
    outbox.deliver()
    variant = Variant.objects.get(version=version, name="opset26")
    assert variant.proof_strength == strength
    is_enough = strength in SUFFICIENT[default]
    name = "opset26" if is_enough else ""
    assert (variant.is_chosen, chosen_of(version), resolved(api, version)) == (
        is_enough,
        name,
        name,
    )
    for least, enough in SUFFICIENT.items():
        expected = "opset26" if strength in enough else ""
        assert chosen_of(version, least) == resolved(api, version, strength=least) == expected
    assert of_manifest(api) == ({"ada/net"} if is_enough else {"ada/net:opset26"})
    listed = ["ada/net"] if is_enough else []
    assert (of_list(), of_graphs()) == (listed, listed)
    # The Hub protocol and registries of containers have no opset: they name each file.
    answer = api().get("/ada/net/resolve/main/onnx/model.onnx")
    assert answer["ETag"] == api().get("/ada/net/resolve/main/model.onnx")["ETag"]


def test_a_refusal_names_the_parameter(api, version):
    proven.upgrade(version, target=26, proof=proven.SAMPLED.to_json())
    answer = resolve(api, version)
    assert answer.status_code == 404
    detail = answer.json()["detail"]
    assert "its proof is only sampled" in detail
    assert 'strength="sampled"' in detail


def test_an_unknown_strength_is_refused(api, version):
    answer = resolve(api, version, strength="partial")
    assert answer.status_code == 400
    assert "strength" in answer.content.decode()


@pytest.mark.parametrize("page", ["docs/metadata.md", "metadata/vocab/terms.ttl"])
def test_every_strength_is_a_documented_word_of_graphs(page):
    text = Path(page).read_text(encoding="utf-8")
    _, _, rest = text.partition("hub:proofStrength")
    described = rest.partition("hub:proofStatement")[0]
    assert [strength for strength in Strength if strength not in described] == []
    assert "full" not in described
