"""What a card declares of a model's inputs, stated of the input's port in every variant with it.

Claims of the publisher, not measured: `registry` has checked that they fit the model.
"""

from __future__ import annotations

import json

from hub.protocol import inputs
from hub.protocol.inputs import DeclaredInput, Image, Resize
from metadata.graphs.facts import VersionFacts
from metadata.rdf.graph import Graph
from metadata.rdf.quads import count, decimal, part, string


def describe(graph: Graph, version: str, of: VersionFacts) -> None:
    """State the declarations of a card's ``inputs`` of the ports that `onnx_facts` describes."""
    paths = {file.path for file in of.files}
    for declared_input in inputs.parse(of.card.get("inputs")):
        example = declared_input.example if declared_input.example in paths else None
        for variant in of.variants:
            if declared_input.name in {port.name for port in variant.facts.inputs}:
                port = f"{version}#in-{part(variant.name)}/{part(declared_input.name)}"
                _port(graph, port, declared_input, example)


def _port(graph: Graph, port: str, declared_input: DeclaredInput, example: str | None) -> None:
    bounds = declared_input.bounds()
    image = declared_input.image or Image()
    resize = image.resize or Resize()
    audio = declared_input.audio
    graph.state(
        port,
        {
            "hub:declaredShape": string(
                json.dumps(declared_input.shape) if declared_input.shape else None
            ),
            "hub:lowestValue": decimal(min(low for low, _ in bounds)) if bounds else "",
            "hub:highestValue": decimal(max(high for _, high in bounds)) if bounds else "",
            "hub:valueDistribution": string(
                declared_input.distribution.kind if declared_input.distribution else None
            ),
            "hub:vocabularySize": count(declared_input.vocabulary),
            "hub:exampleFile": string(example),
            "hub:sampleRate": count(audio.rate if audio else None),
            "hub:windowSamples": count(audio.window if audio else None),
            "hub:hopSamples": count(audio.hop if audio else None),
            "hub:stateOutput": string(declared_input.carry or None),
            "hub:channelOrder": string(image.channels),
            "hub:polarity": string(image.polarity),
            "hub:tensorLayout": string(image.layout),
            "hub:pixelScale": string(image.scale.name if image.scale else None),
            "hub:channelMean": string(json.dumps(image.mean) if image.mean else None),
            "hub:channelDeviation": string(json.dumps(image.std) if image.std else None),
            "hub:resizeMode": string(resize.mode),
            "hub:interpolation": string(resize.interpolation),
            "hub:resizeWidth": count(resize.width),
            "hub:resizeHeight": count(resize.height),
            "hub:shortestEdge": count(resize.shortest_edge),
            "hub:paddingLevel": count(resize.pad) if resize.mode == "letterbox" else "",
        },
    )
