"""Files of other tools, read into a card: what is taken, what never is, and what is refused."""

from __future__ import annotations

import json

import pytest

from hub.protocol import problems
from hub.protocol.facts import Facts
from registry.cards import cards, edits, imports, merges, suggestions

CARBON = """timestamp,project_name,run_id,duration,emissions,cpu_energy,gpu_energy,energy_consumed,\
country_name,region,os,codecarbon_version,cpu_count,cpu_model,gpu_count,gpu_model,longitude,\
latitude,tracking_mode
2026-01-01T00:00:00,secret-host,r1,1800,0.1,0.1,0.2,0.3,Germany,hesse,Linux,3.2.9,8,EPYC,1,\
1 x NVIDIA A100,8.6,50.1,machine
2026-01-01T01:00:00,secret-host,r1,3600,0.2,0.2,0.4,0.6,Germany,hesse,Linux,3.2.9,8,EPYC,1,\
1 x NVIDIA A100,8.6,50.1,machine
2026-01-02T00:00:00,secret-host,r2,3600,0.22,0.2,0.4,0.6,Germany,hesse,Linux,3.2.9,8,EPYC,1,\
1 x NVIDIA A100,8.6,50.1,machine
"""
CROISSANT = {
    "@context": "http://127.0.0.1:9/never-fetched",
    "@type": "sc:Dataset",
    "sc:name": "Digits",
    "url": "https://example.org/digits",
    "sameAs": "https://doi.org/10.24432/C50P49",
    "license": "https://creativecommons.org/licenses/by/4.0/",
    "creator": [{"@type": "Person", "name": "E. Alpaydin"}],
    "rai:personalSensitiveInformation": "Handwriting of 43 people",
}
EVALUATIONS = """- dataset: {id: cais/hle, task_id: default, revision: abc}
  value: 20.9
  verifyToken: token
  date: "2026-01-15"
  source: {url: https://example.org/x, name: Card, user: u}
"""
CITATION = """cff-version: 1.2.0
title: My work
doi: 10.5281/zenodo.1234
date-released: 2026-02-03
license: MIT
authors:
  - {family-names: Lovelace, given-names: Ada, orcid: https://orcid.org/0000-0002-1825-0097}
  - {name: The Lab}
"""


def test_codecarbon_is_summed_in_grams_and_tells_no_machine():
    proposal = imports.read(CARBON.encode(), "emissions.csv")
    assert proposal.fields["co2_eq_emissions"] == {
        "emissions": 420,
        "source": "CodeCarbon 3.2.9",
        "kind": "estimated",
        "geographical_location": "hesse, Germany",
        "hardware_used": "1 x NVIDIA A100; 8 x EPYC",
    }
    assert proposal.fields["energy"] == {
        "kwh": 1.2, "cpu_kwh": 0.4, "gpu_kwh": 0.8, "hours": 2,
    }  # fmt: skip
    assert "2 runs" in proposal.fields["carbon_method"]
    assert "1 row was an earlier state of the same runs." in proposal.notes
    said = repr(proposal)
    assert "secret-host" not in said
    assert "50.1" not in said


def test_croissant_is_a_training_set_with_a_hint():
    proposal = imports.read(json.dumps(CROISSANT).encode(), "croissant.json")
    (entry,) = proposal.fields["training_data"]
    hint = entry.pop("personal_data")
    assert entry == {
        "name": "Digits",
        "iri": "https://doi.org/10.24432/C50P49",
        "license": "CC-BY-4.0",
        "creators": ["E. Alpaydin"],
    }
    assert hint["status"] == "unknown"
    assert "43 people" in hint["note"]


def test_evaluations_keep_their_token_and_say_that_the_metric_has_no_name():
    proposal = imports.read(EVALUATIONS.encode(), ".eval_results/hle.yaml")
    (model,) = proposal.fields["model-index"]
    assert model["results"] == [
        {
            "task": {"type": "default"},
            "dataset": {"type": "cais/hle", "name": "cais/hle", "revision": "abc"},
            "metrics": [{"type": "score", "value": 20.9, "verifyToken": "token"}],
            "source": {"name": "Card", "url": "https://example.org/x"},
        }
    ]
    assert any("metric" in note for note in proposal.notes)


def test_a_citation_names_people():
    proposal = imports.read(CITATION.encode(), "CITATION.cff")
    assert proposal.fields == {
        "creators": [{"name": "Ada Lovelace", "orcid": "0000-0002-1825-0097"}, "The Lab"],
        "doi": "10.5281/zenodo.1234",
        "citation": "Ada Lovelace, The Lab (2026). My work. https://doi.org/10.5281/zenodo.1234",
    }


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (CARBON, "emissions.csv"),
        (json.dumps(CROISSANT), "croissant.json"),
        (EVALUATIONS, "eval_results.yaml"),
        (CITATION, "CITATION.cff"),
    ],
)
def test_each_kind_is_known_by_its_content_and_makes_a_card_that_passes(content, name):
    named, sniffed = (imports.read(content.encode(), one) for one in (name, "data.bin"))
    assert named == sniffed
    text = edits.change("---\nlicense: mit\n---\n", merges.merged({}, named.fields))
    assert cards.check(text).errors == []
    assert merges.merged(cards.check(text).front, named.fields) == {}


@pytest.mark.parametrize(
    ("content", "name", "why"),
    [
        (b"duration,emissions\n1,nan\n", "emissions.csv", "not an amount"),
        (b"duration,emissions\n1,-2\n", "emissions.csv", "not an amount"),
        (b"a,b\n1,2\n", "emissions.csv", "no column"),
        (b"duration,emissions\n", "emissions.csv", "no row"),
        (b"duration,emissions\n" + b"1,1\n" * 10_001, "emissions.csv", "10,000 rows"),
        (b"duration,emissions\n1," + b"9" * 200_000 + b"\n", "emissions.csv", "line"),
        (b"x" * (imports.LIMIT_BYTES + 1), "emissions.csv", "bytes"),
        (b"\xff\xfe", "CITATION.cff", "UTF-8"),
        (b"[" * 200_000, "croissant.json", "too deeply"),
        (b'{"@type": "Dataset", "name": NaN}', "croissant.json", "NaN"),
        (b'{"@type": "Thing"}', "croissant.json", "sc:Dataset"),
        (b"a: &a [1]\nb: *a\n", "CITATION.cff", "aliases"),
        (b"[" * 50_000, "eval_results.yaml", "nested"),
        (b"- value: 1\n", "eval_results.yaml", "dataset"),
        (b"- {dataset: {id: a}, value: high}\n", "eval_results.yaml", "number"),
        (b"title: x\n", "CITATION.cff", "cff-version"),
        (b"hello", "notes.txt", "cannot be imported"),
    ],
)
def test_what_is_wrong_is_refused_with_its_cause(content, name, why):
    with pytest.raises(problems.InvalidRequest, match=why):
        imports.read(content, name)


def test_a_file_suggests_what_it_says_of_itself():
    facts = {
        "metadata": {
            "model_author": "Ada Lovelace, Lab",
            "model_license": "Apache-2.0",
            "model_card": "---\npipeline_tag: object-detection\ntags: {broken: 1}\n---\n",
            "Image.BitmapPixelFormat": "Rgb8",
            "Image.NominalPixelRange": "Normalized_0_1",
        },
        "producer": {"name": "pytorch", "version": "2.9"},
        "doc": "Finds things in pictures of a street. And more.",
        "precision": "fp16",
    }
    assert {one.name: one.value for one in suggestions.of(Facts.read(facts))} == {
        "creators": ["Ada Lovelace", "Lab"],
        "license": "Apache-2.0",
        "pipeline_tag": "object-detection",
        "preprocessing": "Pictures: pixels Rgb8, values from 0 to 1.",
        "summary": "Finds things in pictures of a street.",
        "library_name": "pytorch",
        "precision": "float16",
    }


def test_ultralytics_keys_are_literals_and_never_run():
    props = {
        "description": "Ultralytics YOLO model",
        "author": "Ultralytics",
        "license": "AGPL-3.0 License (https://ultralytics.com/license)",
        "task": "detect",
        "imgsz": "[640, 480]",
        "names": "{0: 'person', 1: 'car'}",
        "stride": "32",
    }
    found = {one.name: one.value for one in suggestions.of(Facts.read({"metadata": props}))}
    assert found["license"] == "AGPL-3.0"
    assert found["postprocessing"] == "Classes by index: 0 person, 1 car."
    assert found["preprocessing"] == "Pictures of 640 x 480 pixels (height x width)."
    for hostile in ("__import__('os').system('true')", "(" * 1500, "{[]: 1}", "x" * 5000):
        assert "postprocessing" not in {
            one.name
            for one in suggestions.of(Facts.read({"metadata": {**props, "names": hostile}}))
        }
    assert suggestions.of(Facts.read({"metadata": [1], "doc": 3, "producer": "x"})) == []
