"""One round's aggregate of large contributions, beside Flower's own in an environment of its own.

50 contributions of 102 MB (the tensors of a ResNet-50) by default. Each candidate runs in a fresh
process that is watched from outside: processor time of the aggregation alone, and the most
anonymous memory at any moment. Every value of ours is compared with a float64 reference.

    python benchmarks/federated_aggregate.py --folder /somewhere/with/6/GB
    python -m venv flower && flower/bin/pip install flwr==1.41.0
    python benchmarks/federated_aggregate.py --folder … --flower flower/bin/python
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

BLOCKS = ((64, 256, 3), (128, 512, 4), (256, 1024, 6), (512, 2048, 3))
MIB = 1 << 20


def shapes() -> dict[str, tuple[int, ...]]:
    """The tensors of a ResNet-50: 25.6 million numbers, statistics included."""
    found: dict[str, tuple[int, ...]] = {}

    def layer(name: str, outputs: int, inputs: int, size: int) -> None:
        found[f"{name}.weight"] = (outputs, inputs, size, size)
        for part in ("gamma", "beta", "mean", "var"):
            found[f"{name}.{part}"] = (outputs,)

    layer("stem", 64, 3, 7)
    inputs = 64
    for group, (narrow, wide, count) in enumerate(BLOCKS):
        for block in range(count):
            name = f"{group}.{block}"
            layer(f"{name}.a", narrow, inputs, 1)
            layer(f"{name}.b", narrow, narrow, 3)
            layer(f"{name}.c", wide, narrow, 1)
            if not block:
                layer(f"{name}.skip", wide, inputs, 1)
            inputs = wide
    return {**found, "out.weight": (1000, 2048), "out.bias": (1000,)}


def examples(client: int) -> int:
    return 100 + 37 * client


# --- the candidates, each in a process of its own -------------------------------------------------


def ours(folder: Path, clients: int) -> dict[str, object]:
    """Aggregate as the engine's child does: mapped files, headers checked, norms known before."""
    from hub.protocol import federated
    from hub.protocol.federated import Part
    from hub.protocol.training_rules import Rules
    from runners.engine.federated import aggregation, judging, mapping
    from runners.engine.federated.updates import Update, Weights

    parts = [
        Part(name, "F32", shape, "statistic" if name.endswith(("mean", "var")) else "trainable")
        for name, shape in shapes().items()
    ]
    files = {str(client): str(folder / f"{client}.safetensors") for client in range(clients)}
    files["base"] = str(folder / "base.safetensors")
    order = list(range(clients))
    random.Random(int(os.environ.get("SHUFFLE", "0"))).shuffle(order)  # noqa: S311
    with mapping.mapped(files, files) as buffers:
        base = Weights(buffers["base"])
        updates = {
            client: Update(Weights(buffers[str(client)]), os.environ["ENCODING"], base)
            for client in order
        }
        began = time.process_time()
        norms = {client: judging.norms(update, parts) for client, update in updates.items()}
        judged = time.process_time()
        members = [
            aggregation.Member(
                f"{client:04}", update, examples(client),
                dict(zip((federated.TRAINABLE, federated.STATISTIC), norms[client], strict=True)),
            )
            for client, update in updates.items()
        ]  # fmt: skip
        rules = Rules.from_json({"clip_multiple": None})
        with tempfile.TemporaryDirectory(dir=folder) as out:
            told = aggregation.aggregate(
                aggregation.Round(parts, rules, base, members, ()), Path(out)
            )
            cpu = time.process_time() - judged
            shutil.copy(Path(out) / federated.WEIGHTS, folder / "result.safetensors")
    return {"cpu": cpu, "judging": judged - began, "digest": told["weights_digest"]}


def _arrays(path: Path) -> list[np.ndarray]:
    """Read a contribution as Flower's clients would have sent it: arrays in memory."""
    with path.open("rb") as reader:
        header = json.loads(reader.read(int.from_bytes(reader.read(8), "little")))
        start, found = reader.tell(), []
        for name, shape in shapes().items():
            reader.seek(start + header[name]["data_offsets"][0])
            values = np.fromfile(reader, "<f4", int(np.prod(shape)))
            found.append(values.reshape(shape))
    return found


def flower_legacy(folder: Path, clients: int) -> dict[str, object]:
    """`flwr.server.strategy.aggregate.aggregate` on lists of arrays."""
    from flwr.server.strategy.aggregate import aggregate

    results = [
        (_arrays(folder / f"{client}.safetensors"), examples(client)) for client in range(clients)
    ]
    began = time.process_time()
    aggregate(results)
    return {"cpu": time.process_time() - began}


def flower(folder: Path, clients: int) -> dict[str, object]:
    """`aggregate_arrayrecords` on messages, which are made before the clock starts."""
    from flwr.common import ArrayRecord, MetricRecord, RecordDict
    from flwr.serverapp.strategy.strategy_utils import aggregate_arrayrecords

    records = []
    began = time.process_time()
    for client in range(clients):
        arrays = _arrays(folder / f"{client}.safetensors")
        records.append(
            RecordDict(
                {
                    "arrays": ArrayRecord(arrays),
                    "metrics": MetricRecord({"num-examples": examples(client)}),
                }
            )
        )
    made = time.process_time()
    aggregate_arrayrecords(records, "num-examples")
    return {"cpu": time.process_time() - made, "messages": made - began}


CANDIDATES = {"ours": ours, "flower": flower, "flower-legacy": flower_legacy}


# --- the comparison -------------------------------------------------------------------------------


def make(folder: Path, clients: int) -> None:
    """Write a base and contributions that differ from it by a little everywhere."""
    from hub.protocol import safetensors

    first, header = safetensors.make_header(
        (name, "F32", shape) for name, shape in shapes().items()
    )
    rng = np.random.default_rng(1)
    base = rng.standard_normal((header.file_bytes - header.data_start) // 4, dtype=np.float32)
    (folder / "base.safetensors").write_bytes(first + base.tobytes())
    for client in range(clients):
        noise = np.random.default_rng(100 + client).standard_normal(1 << 20, dtype=np.float32)
        change = np.resize(noise, base.size) * np.float32(0.01)
        path = folder / f"{client}.safetensors"
        with path.open("wb") as writer:
            writer.write(first)
            writer.write((base + change).tobytes())


def watched(
    python: str, name: str, folder: Path, clients: int, **settings: str
) -> dict[str, float | str]:
    """Run a candidate in a process of its own; adds its peak of anonymous memory in MB."""
    command = [python, str(Path(__file__)), "--candidate", name, "--folder", str(folder)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **settings}
    child = subprocess.Popen(
        [*command, "--clients", str(clients)], stdout=subprocess.PIPE, env=environment
    )
    peak, over = 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not over.wait(0.01):
            try:
                status = Path(f"/proc/{child.pid}/status").read_text()
            except OSError:
                return
            line = next((one for one in status.splitlines() if one.startswith("RssAnon")), "x 0")
            peak = max(peak, int(line.split()[1]))

    thread = threading.Thread(target=watch)
    thread.start()
    output, _ = child.communicate()
    over.set()
    thread.join()
    assert child.returncode == 0, f"{name} failed"
    return {**json.loads(output.splitlines()[-1]), "memory": peak / 1024}


def most_ulps(folder: Path, clients: int) -> float:
    """How far the result is from a float64 reference, in units in the last place of float32."""
    start = int.from_bytes((folder / "base.safetensors").read_bytes()[:8], "little") + 8
    maps = [
        np.memmap(folder / f"{client}.safetensors", "<f4", "r", offset=start)
        for client in range(clients)
    ]
    result = np.memmap(folder / "result.safetensors", "<f4", "r", offset=start)
    weights = np.array([examples(client) for client in range(clients)], float)
    worst = 0.0
    for first in range(0, len(result), 1 << 18):
        rows = np.stack([one[first : first + (1 << 18)] for one in maps]).astype(float)
        wanted = weights @ rows / weights.sum()
        away = np.abs(result[first : first + (1 << 18)] - wanted)
        worst = max(worst, float((away / np.spacing(np.abs(wanted).astype("f4"))).max()))
    return worst


def main() -> None:
    asked = arguments()
    folder = Path(asked.folder)
    if asked.candidate:
        print(json.dumps(CANDIDATES[asked.candidate](folder, asked.clients)))
        return
    folder.mkdir(parents=True, exist_ok=True)
    print(
        f"{asked.clients} contributions of {sum(map(np.prod, shapes().values())) * 4 / 1e6:.0f} MB"
    )
    make(folder, asked.clients)
    try:
        compare(asked, folder)
    finally:
        for path in folder.glob("*.safetensors"):
            path.unlink()


def compare(asked: argparse.Namespace, folder: Path) -> None:
    """Print every candidate's figures, and Flower's as ratios to ours."""
    full = {"ENCODING": "full/f32"}
    mine = watched(sys.executable, "ours", folder, asked.clients, **full)
    print(
        f"ours: {mine['cpu']:.2f} s CPU, {mine['memory']:.0f} MB anonymous; checks of values and "
        f"norms before it {mine['judging']:.2f} s"
    )
    print(f"farthest from float64: {most_ulps(folder, asked.clients):.3f} ulp")
    again = watched(sys.executable, "ours", folder, asked.clients, SHUFFLE="7", **full)
    print(f"arrived in another order, the digest is the same: {again['digest'] == mine['digest']}")
    content = (folder / "result.safetensors").read_bytes()
    assert hashlib.sha256(content).hexdigest() == mine["digest"]
    if not asked.flower:
        print("Flower: not measured (name its Python with --flower)")
        return
    for name in ("flower", "flower-legacy"):
        theirs = watched(asked.flower, name, folder, asked.clients)
        print(
            f"{name}: {theirs['cpu']:.2f} s CPU ({theirs['cpu'] / mine['cpu']:.1f} times), "
            f"{theirs['memory']:.0f} MB anonymous ({theirs['memory'] / mine['memory']:.0f} times)"
            + (f"; messages made in {theirs['messages']:.1f} s" if "messages" in theirs else "")
        )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", required=True, help="where contributions are written, and go")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--flower", default="", help="the Python of an environment with flwr")
    parser.add_argument("--candidate", choices=CANDIDATES, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
