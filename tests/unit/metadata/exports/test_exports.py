"""Exports are what their specifications ask for, say what the graph says, and invent nothing."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
import referencing
import yaml
from jsonschema import Draft7Validator
from referencing.jsonschema import DRAFT7

from metadata.exports import annotation, card, cyclonedx, schemaorg, sheet, spdx
from metadata.rdf.graph import Graph
from metadata.rdf.iris import Places
from metadata.rdf.quads import count, decimal, link, number, string, typed, words
from metadata.rdf.terms import DCAT, DCTERMS, DPV, DQV, FAIR4ML, FOAF, IT6, MLS, PROV, SPDX

HOME = "https://hub.example"
PLACES = Places(HOME)
IRI = PLACES.version("lab", "net", 3)
AT = "2026-01-02T03:04:05.5Z"
DIGEST = "ab" * 32


def identity(graph, licence="apache-2.0"):
    publisher = PLACES.agent("lab")
    graph.add(IRI, f"{DCTERMS}identifier", string("lab/net@3"))
    graph.add(IRI, f"{DCTERMS}title", words("net"))
    graph.add(IRI, f"{DCTERMS}license", link(PLACES.licence(licence)))
    graph.add(IRI, f"{DCTERMS}publisher", link(publisher))
    for term in ("created", "issued", "modified"):
        graph.add(IRI, f"{DCTERMS}{term}", typed(AT, "dateTime"))
    file = f"{IRI}/files/model.onnx"
    graph.add(IRI, f"{DCAT}distribution", link(file))
    graph.add(file, f"{DCTERMS}title", string("model.onnx"))
    graph.add(file, f"{DCAT}byteSize", count(42))
    graph.add(file, f"{SPDX}checksum", link(f"{IRI}#sha256-model.onnx"))
    graph.add(f"{IRI}#sha256-model.onnx", f"{SPDX}checksumValue", typed(DIGEST, "hexBinary"))
    return graph


def bare(licence=""):
    return sheet.read(IRI, identity(Graph(f"{IRI}/metadata", PLACES), licence).text(), HOME)


def full(*, energy=True, licence="apache-2.0"):
    graph = identity(Graph(f"{IRI}/metadata", PLACES), licence)
    ada = "https://orcid.org/0000-0002-1825-0097"
    graph.add(IRI, f"{DCTERMS}creator", link(ada))
    graph.add(ada, f"{FOAF}name", string("Ada, Countess"))
    graph.add(IRI, f"{DCTERMS}description", words('Ends a block: </script><script>alert("x")'))
    graph.add(IRI, f"{IT6}shortDescription", words("Tells digits apart."))
    graph.add(IRI, f"{FAIR4ML}mlTask", link(PLACES.task("image-classification")))
    graph.add(IRI, f"{DCAT}keyword", words("digits"), words("tiny"))
    graph.add(IRI, f"{IT6}intendedUse", words("Reading post codes."))
    graph.add(IRI, f"{IT6}limitations", words("One digit at a time."))
    graph.add(IRI, f"{IT6}bias", words("Western handwriting."))
    graph.add(IRI, f"{IT6}modelArchitecture", words("LeNet-5"))
    graph.add(IRI, f"{PROV}wasDerivedFrom", link(PLACES.version("lab", "base", 1)))
    graph.add(IRI, f"{PROV}wasGeneratedBy", link(f"{IRI}#generation"))
    graph.type(f"{IRI}#generation", f"{PROV}Activity", f"{MLS}Run", PLACES.term("Finetuning"))
    graph.add(IRI, PLACES.term("trainingCO2eKg"), decimal(number("0.42")))
    graph.add(f"{IRI}#impact", f"{IT6}carbonEmitted", decimal(number("0.42")))
    graph.add(f"{IRI}#impact", f"{IT6}measurementMethodology", words("CodeCarbon"))
    if energy:
        graph.add(f"{IRI}#impact", f"{IT6}powerConsumption", decimal(number("1.5")))
    data = f"{IRI}#data-mnist"
    graph.add(IRI, f"{FAIR4ML}trainedOn", link(data))
    graph.add(data, f"{DCTERMS}title", words("MNIST"))
    graph.add(data, f"{PROV}specializationOf", link(PLACES.dataset("mnist")))
    graph.add(data, f"{DPV}hasPersonalData", link(f"{DPV}PersonalData"))
    score = f"{IRI}#eval-1"
    graph.add(IRI, f"{FAIR4ML}hasEvaluation", link(score))
    graph.add(score, f"{DQV}value", decimal(number("0.97")))
    graph.add(score, f"{DQV}isMeasurementOf", link(PLACES.metric("accuracy")))
    graph.add(score, f"{FAIR4ML}evaluationDataset", link(PLACES.dataset("mnist")))
    graph.add(IRI, PLACES.term("hasInput"), link(f"{IRI}#in-x"))
    graph.add(f"{IRI}#in-x", PLACES.term("portName"), string("x"))
    graph.add(f"{IRI}#in-x", PLACES.term("valueType"), string("tensor"))
    graph.add(f"{IRI}#in-x", PLACES.term("elementType"), link(PLACES.term("dt-float")))
    return sheet.read(IRI, graph.text(), HOME)


@pytest.fixture(scope="module")
def bill():
    """The validator of CycloneDX's own schema, which its Python library ships."""
    import cyclonedx.schema

    folder = Path(cyclonedx.schema.__file__).parent / "_res"
    names = [
        "bom-1.7.SNAPSHOT",
        "spdx.SNAPSHOT",
        "jsf-0.82.SNAPSHOT",
        "cryptography-defs.SNAPSHOT",
    ]
    read = {name: json.loads((folder / f"{name}.schema.json").read_text()) for name in names}
    base = read[names[0]]["$id"].rpartition("/")[0]
    registry = referencing.Registry().with_resources(
        pair
        for name in names
        for pair in (
            (read[name]["$id"], DRAFT7.create_resource(read[name])),
            (f"{base}/{name}.schema.json", DRAFT7.create_resource(read[name])),
        )
    )
    return Draft7Validator(
        read[names[0]], registry=registry, format_checker=Draft7Validator.FORMAT_CHECKER
    )


SHEETS = {
    "bare": bare,
    "full": full,
    "no energy": lambda: full(energy=False),
    "own licence": lambda: full(licence="my own terms"),
}


@pytest.mark.parametrize("name", SHEETS)
def test_cyclonedx_fits_its_schema(bill, name):
    written = cyclonedx.write(SHEETS[name]())
    assert [error.message for error in bill.iter_errors(json.loads(written))] == []
    assert written == cyclonedx.write(SHEETS[name]())


@pytest.mark.parametrize("name", SHEETS)
def test_spdx_fits_its_model(name):
    from spdx_python_model import v3_0_1 as model

    objects = model.SHACLObjectSet()
    model.JSONLDDeserializer().read(io.BytesIO(spdx.write(SHEETS[name]())), objects)
    [package] = objects.foreach_type(model.ai_AIPackage)
    assert package.software_packageVersion == "3"
    # What the AI profile asks of a package beyond the model (SPDX 3.0.1, AIPackage).
    for wanted in ("suppliedBy", "releaseTime", "software_downloadLocation"):
        assert getattr(package, wanted), wanted
    kinds = [
        one.relationshipType.rsplit("/", 1)[-1] for one in objects.foreach_type("Relationship")
    ]
    assert kinds.count("hasDeclaredLicense") == kinds.count("hasConcludedLicense") == 1
    assert not objects.missing_ids
    model.JSONLDSerializer().write(objects, io.BytesIO())  # refuses what lacks a needed property


def test_what_nobody_told_is_not_there():
    of = bare()
    assert cyclonedx_component(of).keys() == {
        "type", "bom-ref", "publisher", "group", "name", "version", "externalReferences",
        "components",
    }  # fmt: skip
    [package] = [row for row in graph_of(of) if row["type"] == "ai_AIPackage"]
    assert {key for key in package if key.startswith("ai_")} == {
        "ai_useSensitivePersonalInformation"
    }
    assert package["ai_useSensitivePersonalInformation"] == "noAssertion"
    assert "license" not in card.normalised(of, {})
    assert annotation.properties(of, {}, HOME).keys() == {"hub_iri", "model_card"}


def cyclonedx_component(of):
    return json.loads(cyclonedx.write(of))["metadata"]["component"]


def graph_of(of):
    return json.loads(spdx.write(of))["@graph"]


def test_carbon_is_in_tonnes_and_energy_in_kilowatt_hours():
    card_of = cyclonedx_component(full())["modelCard"]
    [used] = card_of["considerations"]["environmentalConsiderations"]["energyConsumptions"]
    assert used["activity"] == "fine-tuning"
    assert used["activityEnergyCost"] == {"value": 1.5, "unit": "kWh"}
    assert used["co2CostEquivalent"] == {"value": 0.00042, "unit": "tCO2eq"}


def test_carbon_without_energy_invents_no_energy():
    told = cyclonedx_component(full(energy=False))["modelCard"]["considerations"]
    assert told["environmentalConsiderations"] == {
        "properties": [{"name": "onnx-hub:trainingCO2eTonnes", "value": "0.00042"}]
    }
    assert b"nergy" not in spdx.write(full(energy=False))


def test_spdx_has_energy_and_no_carbon():
    written = spdx.write(full())
    [package] = [row for row in json.loads(written)["@graph"] if row["type"] == "ai_AIPackage"]
    [used] = package["ai_energyConsumption"]["ai_finetuningEnergyConsumption"]
    assert (used["ai_energyQuantity"], used["ai_energyUnit"]) == (1.5, "kilowattHour")
    assert b"0.42" not in written
    assert b"CO2" not in written


def test_ordinary_personal_data_are_not_called_sensitive():
    [package] = [row for row in graph_of(full()) if row["type"] == "ai_AIPackage"]
    assert package["ai_useSensitivePersonalInformation"] == "noAssertion"


def test_a_block_in_a_page_cannot_be_ended_by_what_it_holds():
    embedded = schemaorg.embed(full())
    assert "<" not in embedded
    assert ">" not in embedded
    assert json.loads(embedded) == schemaorg.describe(full())
    assert "</script>" in schemaorg.describe(full())["description"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("Apache-2.0", {"license": "apache-2.0"}),
        ("ODbL-1.0", {"license": "odbl"}),
        ("openrail", {"license": "openrail"}),
        (
            "0BSD",
            {
                "license": "other",
                "license_name": "0BSD",
                "license_link": "https://spdx.org/licenses/0BSD.html",
            },
        ),
        ("my-own", {"license": "other", "license_name": "my-own", "license_link": "LICENSE"}),
    ],
)
def test_a_licence_as_hugging_face_spells_it(given, told):
    made = card.normalised(bare(given), {"license": given, "license_link": "LICENSE"})
    if "license_link" not in told:
        made.pop("license_link")
    assert {name: made[name] for name in made if name.startswith("license")} == told


def test_a_card_keeps_what_its_author_wrote():
    front = {
        "zzz": {"own": 1},
        "tags": "digits",
        "co2_eq_emissions": {"emissions": 420, "source": "CodeCarbon"},
        "language": "en",
    }
    written = card.write(full(), front, "# Net\n\nWords.\n").decode()
    _, head, body = written.split("---\n", 2)
    read = yaml.safe_load(head)
    assert read["zzz"] == {"own": 1}
    assert (read["tags"], read["language"]) == (["digits"], ["en"])
    assert read["co2_eq_emissions"]["emissions"] == 420
    assert read["library_name"] == "onnx"
    assert body.strip() == "# Net\n\nWords."


def test_a_file_carries_author_licence_card_and_address():
    told = annotation.properties(full(), {"pipeline_tag": "image-classification"}, HOME)
    assert told["hub_iri"] == IRI
    assert told["model_author"] == "Ada  Countess"
    assert told["model_license"] == "Apache-2.0"
    front = yaml.safe_load(told["model_card"].split("---\n")[1])
    assert (front["@context"], front["@id"]) == (f"{HOME}/ns/context.jsonld", IRI)


def test_the_front_matter_of_a_file_is_rdf_by_the_hubs_context():
    """YAML-LD: the front matter as JSON, with the context put in place of its address."""
    import pyoxigraph
    import rdflib

    told = annotation.properties(full(), {}, HOME)
    front = yaml.safe_load(told["model_card"].split("---\n")[1])
    front["@context"] = annotation.context(HOME)["@context"]
    triples = pyoxigraph.parse(
        json.dumps(front).encode(), format=pyoxigraph.RdfFormat.JSON_LD, base_iri=IRI
    )
    found = {(t.subject.value, t.predicate.value, t.object.value) for t in triples}
    assert (IRI, str(rdflib.DCTERMS.license), "http://spdx.org/licenses/Apache-2.0") in found
    task = f"{HOME}/tasks/image-classification"
    assert (IRI, f"{FAIR4ML}mlTask", task) in found
    assert (IRI, f"{DCAT}keyword", "tiny") in found


def test_a_large_card_stays_small_in_a_file():
    front = {"model-index": [{"results": ["x" * 1000] * 100}], "pipeline_tag": "other"}
    told = annotation.properties(full(), front, HOME)["model_card"]
    assert len(told) < 2000
    assert "model-index" not in told
