"""What a card declares of a model's inputs, told of the input's port in every variant that has it.

Claims of the publisher, which nobody measured: `registry` has checked that they fit the model.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hub.protocol import inputs
from metadata.rdf import quads

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from hub.protocol.inputs import DeclaredInput, Image
    from metadata.graphs.facts import FileFacts, VariantFacts
    from metadata.rdf.iris import Places
    from metadata.rdf.quads import Graph


def tell(
    graph: Graph,
    places: Places,
    version: str,
    card: Any,
    variants: Iterable[VariantFacts],
    files: Iterable[FileFacts],
) -> None:
    """Tell the declarations of a card's ``inputs`` of the ports that `onnxfacts` has made."""
    paths = {file.path for file in files}
    declared = inputs.parse(card.get("inputs")) if isinstance(card, dict) else ()
    for variant in variants:
        names = {port.name for port in variant.facts.inputs}
        for one in declared:
            if one.name not in names:
                continue
            port = f"{version}#in-{quads.part(variant.name)}/{quads.part(one.name)}"
            for term, value in _statements(one, paths):
                graph.add(port, places.term(term), value)


def _statements(one: DeclaredInput, paths: Collection[str]) -> Iterator[tuple[str, str]]:
    """Terms and values of one declaration; an empty value is no statement."""
    bounds = one.bounds()
    if bounds:
        yield "lowestValue", quads.decimal(quads.number(min(low for low, _ in bounds)))
        yield "highestValue", quads.decimal(quads.number(max(high for _, high in bounds)))
    if one.distribution is not None:
        yield "valueDistribution", quads.string(one.distribution.kind)
    yield "vocabularySize", quads.count(one.vocabulary)
    yield "exampleFile", quads.string(one.example if one.example in paths else None)
    if one.image is not None:
        yield from _image(one.image)


def _image(image: Image) -> Iterator[tuple[str, str]]:
    yield "channelOrder", quads.string(image.channels)
    yield "polarity", quads.string(image.polarity)
    yield "tensorLayout", quads.string(image.layout)
    yield "pixelScale", quads.string(image.scale.name if image.scale else None)
    for term, values in (("channelMean", image.mean), ("channelDeviation", image.std)):
        yield term, quads.string(json.dumps(list(values)) if values else None)
    resize = image.resize
    if resize is None:
        return
    yield "resizeMode", quads.string(resize.mode)
    yield "interpolation", quads.string(resize.interpolation)
    yield "resizeWidth", quads.count(resize.width)
    yield "resizeHeight", quads.count(resize.height)
    yield "shortestEdge", quads.count(resize.shortest_edge)
    if resize.mode == "letterbox":
        yield "paddingLevel", quads.count(resize.pad)
