"""A hub whose models were evaluated in every way that a list by accuracy tells apart."""

from __future__ import annotations

from registry.datasets import services as datasets
from runners.evaluations import scheduling
from tests import evaluated, factories, proven, timed

_REGRESSION = {"task": "regression", "target": {"column": "price"}}


def fill(owner):
    """Data sets `stones`, `pebbles` and `houses`, and models of ``owner`` measured on them."""
    stones = _data(owner, "stones")
    _data(owner, "pebbles")
    _data(owner, "houses", **_REGRESSION)

    good, fair, poor, other = (_model(owner, name) for name in ("good", "fair", "poor", "other"))
    measure(owner, good, "stones", ("accuracy", 0.9733333333333334), ("roc_auc", 0.99))
    measure(owner, good, "stones:valid", ("accuracy", 0.5))
    measure(owner, fair, "stones", ("accuracy", 0.9), ("roc_auc", 0.8))
    measure(owner, fair, "pebbles", ("accuracy", 0.95))
    measure(owner, poor, "stones", ("accuracy", 0.6), ("log_loss", 1.5))
    measure(owner, other, "pebbles", ("accuracy", 0.97))
    measure(owner, other, "houses", ("rmse", 3.25))
    measure(owner, poor, "houses", ("rmse", 0.0000001234567))
    # Claims much, and of its variants only another than the main one was measured.
    claims = _model(owner, "claims")
    proven.convert(claims, b"of claims")
    measure(owner, claims, "stones", ("accuracy", 0.98), variant="int8")
    secret = _model(owner, "secret", visibility="private")
    measure(owner, secret, "stones", ("accuracy", 1.0))
    # Another variant is as good as the best; lists show the main one.
    half = _model(owner, "half")
    measure(owner, half, "stones", ("accuracy", 0.55))
    proven.convert(half)
    measure(owner, half, "stones", ("accuracy", 0.99), variant="int8")
    # The newest version counts, and of its figures the newest.
    again = _model(owner, "again")
    measure(owner, again, "stones", ("accuracy", 1.0))
    second = _version(owner, again.model, b"second")
    measure(owner, second, "stones", ("accuracy", 0.4))
    datasets.publish_version(
        owner,
        dataset=stones.dataset,
        files={"test.csv": factories.blob(owner, b"weight,kind\n99,1\n")},
        splits=[evaluated.SPLIT],
    )
    measure(owner, second, "stones", ("accuracy", 0.7))
    for version, milliseconds in ((good, 8.0), (fair, 2.0), (poor, 1.0)):
        timed.benchmark(version, milliseconds)


def measure(owner, version, on, *figures, variant=""):
    """Evaluate a variant on ``dataset[:split]``; figures are (metric, value) pairs."""
    dataset, _, split = on.partition(":")
    split = split or "test"
    job = scheduling.request(owner, version=version, dataset=dataset, split=split, variant=variant)
    rows = [(name, one, max(0.0, one - 0.05), _upper(name, one)) for name, one in figures]
    report = evaluated.report(rows)
    report.facts["split"] = split
    evaluated.end(job, report)


def _upper(name, value):
    return value + 0.05 if name in ("rmse", "log_loss") else min(1.0, value + 0.05)


def _data(owner, slug, **split):
    splits = [evaluated.SPLIT | split | {"name": name} for name in ("test", "valid")]
    # Results belong to content, so each data set has rows of its own.
    contents = {"test.csv": f"weight,kind\n{len(slug)},0\n".encode()}
    entry = factories.dataset(owner, slug)
    return factories.dataset_version(owner, entry, contents, splits=splits)


def _model(owner, name, **described):
    return _version(owner, factories.model(owner, name, **described), name.encode())


def _version(owner, model, content):
    claim = evaluated.card(("accuracy", 0.99))
    return factories.version(owner, model, {"model.onnx": content * 9}, card=claim)
