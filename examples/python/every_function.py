"""Every public function of `hub`, on a model of one layer that this program makes.

    HUB_URL=https://hub.example.org HUB_TOKEN=hf_... python every_function.py NAMESPACE
    HUB_URL=... HUB_TOKEN=... python every_function.py NAMESPACE --training zoo/digits/trainings/7

It needs onnx and ONNX Runtime, publishes a model and a data set in the namespace, and stores the
token of HUB_TOKEN as `hub login` does, until it has ended. Both pyright and mypy accept it in their
strict modes, so that its calls show the types that an editor knows.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import uuid
from pathlib import Path

import onnx
from onnx import TensorProto, helper

import hub

CARD = """---
license: apache-2.0
---
# Scaled

Twice the input.
"""


def make_model(factor: float) -> onnx.ModelProto:
    """A model that multiplies two numbers by a factor."""
    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", "factor"], ["y"])],
        "scaled",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])],
        [helper.make_tensor("factor", TensorProto.FLOAT, [1], [factor])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def publish(name: str) -> None:
    """Two versions of a model: a model in memory, then files in memory."""
    first = hub.push(make_model(2.0), name=name, card=CARD, progress=False)
    print("published", first["ref"])
    files = {"model.onnx": make_model(3.0).SerializeToString(), "notes.txt": b"Three times.\n"}
    second = hub.push(files, name=name, card=CARD, label="three", progress=False)
    print("published", second["ref"])


def read(name: str, folder: Path) -> None:
    """What a hub answers about a model, and the model itself."""
    print("latest:", hub.info(name)["version"]["number"])
    print("named like it:", [model["ref"] for model in hub.list_models(name, limit=5)])
    print("small ones:", [model["ref"] for model in hub.find(max_size="1MB", limit=5)])
    print("changed:", [file.path for file in hub.diff(f"{name}@1", f"{name}@2").files])
    print("files:", sorted(path.name for path in hub.download(name, to=folder).iterdir()))
    print("nodes:", len(hub.load(f"{name}@1").graph.node))
    session = hub.session(name, ["CPUExecutionProvider"])
    print("runs on", session.get_providers())
    try:
        print("generates:", hub.genai(name))
    except (hub.errors.ComponentMissing, hub.errors.LibraryMissing) as error:
        print("no language model:", error)
    print("any triples:", hub.query("ASK { ?subject ?predicate ?object }"))


def derive(name: str) -> None:
    """Another operator set, made and compared by the hub."""
    try:
        variant = hub.make_variant(name, "upgrade", opset=18, progress=False)
        print("variant:", variant["name"])
    except hub.errors.JobFailed as error:
        print("no variant:", error)


def share_data(name: str, namespace: str, folder: Path) -> None:
    """A data set of one file."""
    folder.mkdir()
    (folder / "values.csv").write_text("x,y\n1,2\n2,4\n")
    version = hub.push_dataset(name, folder, namespace=namespace, progress=False)
    print("data set, version", version["number"])
    print("versions:", len(hub.dataset(name)["versions"]))
    print("data sets:", [entry["slug"] for entry in hub.list_datasets(name, limit=5)])
    print("file:", hub.download_dataset(name, folder.with_name("copy"), progress=False))


async def read_together(name: str) -> None:
    """The same functions for asyncio; several at once, and no longer than a minute."""
    async with asyncio.timeout(60):
        model, about = await asyncio.gather(hub.aio.load(name), hub.aio.info(name))
    print("opset", model.opset_import[0].version, "of", about["ref"])
    print("listed:", [row["ref"] async for row in hub.aio.list_models(name, limit=5)])
    tokens = await hub.aio.run(list, hub.Hub().tokens.list())
    print("tokens:", len(tokens))


def main() -> None:
    """Publish, read, derive and share, as the user of the token."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("namespace")
    parser.add_argument("--training", help="a training that this device may join")
    parser.add_argument("--fleet", help="a fleet of devices, such as zoo/digits/fleets/cameras")
    parser.add_argument("--key", help="a PEM file of the key that signs what is published")
    arguments = parser.parse_args()
    print("client", hub.__version__, "for", hub.login()["username"])
    print("scopes:", hub.whoami().scopes)
    name = f"scaled-{uuid.uuid4().hex[:8]}"
    ref = f"{arguments.namespace}/{name}"
    try:
        with tempfile.TemporaryDirectory() as folder:
            publish(ref)
            if arguments.key:
                print("signed by", hub.sign(ref, key=arguments.key)["signed_by"])
            read(ref, Path(folder) / "files")
            derive(ref)
            share_data(name, arguments.namespace, Path(folder) / "data")
            asyncio.run(read_together(ref))
        if arguments.training:
            print("training:", hub.training(arguments.training).info())
        if arguments.fleet:
            model, _, fleet = arguments.fleet.rpartition("/fleets/")
            print("device:", hub.fleet_device(model, fleet, device="sample").is_enrolled)
    finally:
        print("token removed:", hub.logout())


if __name__ == "__main__":
    main()
