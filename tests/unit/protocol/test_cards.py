"""The front matter of a card is read once; what has another shape is empty."""

from __future__ import annotations

import dataclasses
import json

import pytest

from hub.protocol.cards import Card, CardDataset, Emissions, Energy

SHAPES = [None, 3, "x", True, [1], {"a": 2}, [[None]], [{"results": 3}], {"emissions": "nan"}]


def test_a_front_matter_is_read():
    card = Card.read(
        {
            "license": ["mit", "other", None],
            "license_name": "Own 1.0",
            "pipeline_tag": "fill-mask",
            "tags": "one",
            "base_model": ["a/b", 3, False],
            "datasets": ["squad", {"name": "x", "rows": 5}],
            "training_data": {"iri": "https://a.example", "doi": "10.1/x", "personal_data": True},
            "model-index": [{"results": [{"dataset": {"type": "t", "name": "n"}}]}],
            "eval_results": [{"dataset": {"id": "i"}}, "y"],
            "personal_data": {"status": "No"},
            "co2_eq_emissions": {"emissions": "12", "source": ["CodeCarbon"], "kind": "Measured"},
        }
    )
    assert card.licenses == ("mit", "Own 1.0")
    assert (card.task, card.keywords) == ("fill-mask", ("one",))
    assert card.base_models == ("a/b", "3")
    assert card.datasets == (CardDataset(name="squad"), CardDataset(name="x", is_described=True))
    (trained,) = card.training_data
    assert trained.names == ("https://a.example", "doi:10.1/x")
    assert (trained.personal_data, trained.is_described) == ("yes", True)
    assert card.evaluated_on == (CardDataset(type="t", name="n", is_described=True),
                                 CardDataset(id="i"))  # fmt: skip
    assert card.personal_data == "no"
    assert card.emissions == Emissions(12.0, "measured", ("CodeCarbon",))
    assert card.emissions.kilograms == 0.012


def test_each_metric_of_a_result_is_read_with_its_place():
    metrics = [{"type": "acc", "value": 0.5, "unit": "%"}, "x", {"name": " F1 ", "value": [1]}]
    dataset = {"type": "digits", "name": "Digits", "split": "test"}
    source = {"url": "https://a.example"}
    card = Card.read(
        {
            "model-index": [3, {"results": [{"dataset": dataset, "metrics": metrics}]}],
            "eval_results": [
                {"dataset": {"id": "b", "task_id": "bench"}, "value": "7", "source": source},
                {"dataset": "plain", "metric": {"type": "mae"}, "value": True, "date": "2026"},
            ],
        }
    )
    assert [(one.pointer, one.metric, one.value, one.unit) for one in card.results] == [
        ("/model-index/1/results/0/metrics/0", "acc", 0.5, "%"),
        ("/model-index/1/results/0/metrics/2", "F1", None, ""),
        ("/eval_results/0", "bench", "7", ""),
        ("/eval_results/1", "mae", None, ""),
    ]
    names = [one.names for one in card.results]
    assert names == [("digits", "Digits"), ("digits", "Digits"), ("b",), ("plain",)]
    assert card.results[0].dataset.split == "test"
    assert (card.results[2].url, card.results[3].date) == ("https://a.example", "2026")
    assert [one.name or one.id for one in card.evaluated_on] == ["Digits", "b", "plain"]


def test_energy_and_hardware_come_from_either_field():
    carbon = {"energy_consumed": 3, "hardware_used": "GPU", "geographical_location": "Quebec",
              "training_type": "Fine-tuning"}  # fmt: skip
    card = Card.read(
        {
            "co2_eq_emissions": carbon,
            "energy": {"hours": 2, "method": "meter", "location": "Ottawa"},
            "hardware": ["CPU", "GPU"],
            "base_model_relation": "Finetune",
        }
    )
    assert card.energy == Energy(kwh=3.0, hours=2.0, methods=("meter",))
    assert (card.hardware, card.location) == (("CPU", "GPU"), "Quebec")
    assert (card.relation, card.training_type) == ("finetune", "Fine-tuning")
    assert Card.read({"energy": 4.5}).energy == Energy(kwh=4.5)


@pytest.mark.parametrize("shape", SHAPES, ids=json.dumps)
def test_no_shape_of_a_field_is_an_error(shape):
    names = {
        "license", "license_name", "pipeline_tag", "tags", "summary", "library_name", "language",
        "base_model", "datasets", "training_data", "validated_on", "tested_on", "model-index",
        "eval_results", "personal_data", "co2_eq_emissions", "carbon_method", "inputs", "energy",
        "hardware", "base_model_relation", "creators",
    }  # fmt: skip
    card = Card.read(dict.fromkeys(names, shape))
    assert card.personal_data in (None, "unknown", "yes")
    assert card.emissions.grams in (None, 3.0)
    assert all(isinstance(word, str) for word in card.keywords)
    assert hash(dataclasses.replace(card, inputs=())) is not None
    assert Card.read(shape).licenses == ()
