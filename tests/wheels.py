"""Wheels and manifests of starter models that tests write."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile

from onnx import TensorProto, helper

LICENCE = b"Permission is granted.\n"
LABELS = ["cat", "striped  cat", "dog"]


def classifier():
    """A model of three classes, as bytes."""
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "w"], ["scores"])],
        "tiny",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", 3])],
        [helper.make_tensor("w", TensorProto.FLOAT, [2, 3], [1, 2, 3, 4, 5, 6])],
    )
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def members(**others):
    """The files of the package, by member."""
    return {
        "tiny_net/model.onnx": classifier(),
        "tiny_net/labels.json": json.dumps(LABELS).encode(),
        "tiny_net/__init__.py": b"raise SystemExit('this package was imported')\n",
        "tiny_net-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: tiny-net\nVersion: 1.0\n",
        "tiny_net-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nTag: py3-none-any\n",
        "tiny_net-1.0.dist-info/licenses/LICENSE": LICENCE,
    } | others


def wheel(files):
    """A wheel of these members, as bytes."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return whole.getvalue()


def manifest(archive, files, *, name="tiny-net", data=""):
    """The manifest of one model out of this wheel, as TOML."""
    rows = [
        ("tiny_net/model.onnx", "model.onnx", "copy"),
        ("tiny_net/labels.json", "labels.txt", "json-lines"),
        ("tiny_net-1.0.dist-info/licenses/LICENSE", "LICENSE", "copy"),
    ]
    members_toml = "".join(
        f"[[models.packages.files]]\nmember = {json.dumps(member)}\npath = {json.dumps(path)}\n"
        f"size = {len(files[member])}\nsha256 = {json.dumps(sha256(files[member]))}\n"
        f"recipe = {json.dumps(recipe)}\n"
        for member, path, recipe in rows
    )
    return (
        f'[[models]]\nname = "{name}"\nis_first = true\nabout = "It tells cats from dogs."\n'
        '[models.licences]\ncode = "MIT"\nweights = "Apache-2.0"\nstated_in = "LICENSE"\n'
        '[models.card]\nsummary = "Tells cats from dogs."\npipeline_tag = "image-classification"\n'
        f'license = "Apache-2.0"\ntags = ["starter"]\n{data}'
        '[[models.packages]]\nname = "tiny-net"\nversion = "1.0"\n'
        f'archive = "tiny_net-1.0-py3-none-any.whl"\nsize = {len(archive)}\n'
        f'sha256 = "{sha256(archive)}"\n{members_toml}'
    )


def sha256(content):
    return hashlib.sha256(content).hexdigest()
