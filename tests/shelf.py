"""Models of every kind that the examples of the query page tell apart, some of which are hidden."""

from __future__ import annotations

from django.db import transaction

from registry.datasets import services
from registry.versions.services import names, registered_models, versions
from tests import deliveries, factories, proven


def card(**fields):
    lines = [f"{name}: {value}" for name, value in fields.items()]
    return "\n".join(["---", *lines, "---", "# A model", "", "It was made for a test.", ""])


def publish(owner, name, facts=None, *, visibility="public", **fields):
    """A model with one published version, whose file a worker found to be as ``facts`` say."""
    return again(owner, factories.model(owner, name, visibility=visibility), facts, **fields)


def again(owner, model, facts=None, **fields):
    """One more published version of it; a hub that runs may do some of the deliveries."""
    with transaction.atomic():
        version = factories.version(owner, model, facts=facts, card=card(**fields))
    deliveries.deliver()
    return version


BGR = {"metadata": {"Image.BitmapPixelFormat": "BGR8"}}
GRID = {"operators": [{"domain": "ai.onnx", "name": "GridSample", "count": 1}], "opset": 16}


def fill(ada, bob):
    """Publish them all; nobody but ada may know of the hidden ones."""
    services.create(
        bob, namespace=bob.memberships.get().namespace, slug="faces", personal_data="yes"
    )
    publish(ada, "tiny", license="mit", pipeline_tag="fill-mask", co2_eq_emissions=1500)
    publish(ada, "big", {"precision": "mixed"}, license="mit", pipeline_tag="translation")
    publish(ada, "digits", BGR, license="apache-2.0", co2_eq_emissions="{emissions: 20.5}")
    warp = publish(ada, "warp", GRID, datasets="[faces]", summary="It tells Digits apart.")
    names.confirm(ada, model=warp.model, kind="dataset", name="faces", target="faces")
    publish(ada, "warp-new", GRID | {"opset": 20}, personal_data='"no"')
    publish(ada, "portraits", training_data="[{name: people, personal_data: 'yes'}]")
    publish(ada, "anonymous", datasets="[crowd]", personal_data="anonymised")
    failing = publish(ada, "failing", license="mit", pipeline_tag="summarization")
    proven.conformance(failing, [proven.measure("bundled", "failed"), proven.measure("reference")])
    passing = publish(ada, "passing", license="cc-by-4.0")
    proven.conformance(
        passing, [proven.measure("bundled", "inapplicable"), proven.measure("reference")]
    )

    everything = {
        "license": "mit",
        "pipeline_tag": "fill-mask",
        "co2_eq_emissions": 1,
        "personal_data": '"yes"',
        "summary": "Digits nobody sees.",
    }
    facts = BGR | GRID | {"precision": "mixed"}
    publish(ada, "hidden-digits", facts, visibility="private", **everything)
    yanked = publish(ada, "yanked-digits", facts, **everything)
    versions.yank(ada, version=yanked, reason="It was wrong.")
    gone = publish(ada, "gone-digits", facts, **everything)
    versions.withdraw(ada, version=gone, reason="It was wrong.")
    deleted = publish(ada, "deleted-digits", facts, **everything)
    registered_models.delete(ada, model=deleted.model)
    # Two versions: only the newest counts. One whose newest was yanked: the one before counts.
    changed = publish(ada, "changed", facts, **everything)
    again(ada, changed.model, license="bsd-3-clause", pipeline_tag="image-classification")
    back = publish(ada, "back", license="zlib", pipeline_tag="text-generation", co2_eq_emissions=7)
    newest = again(ada, back.model, facts, **everything)
    versions.yank(ada, version=newest, reason="It was wrong.")
    deliveries.deliver()
