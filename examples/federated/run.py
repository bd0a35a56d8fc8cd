"""Five devices train one network on a hub, and none shows its digits to anybody.

    HUB_URL=http://127.0.0.1:8000 HUB_TOKEN=hf_… python run.py

Publishes the untrained network, opens a training on it, starts five devices as processes of their
own and prints the accuracy on the test digits after every round, beside that of one machine that
had all digits. The hub is told each accuracy, and makes a version of the best round.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import digits
import model
import numpy as np
import onnxruntime
import with_numpy

import hub
import hub.errors

HERE = Path(__file__).parent
CARD = """---
license: apache-2.0
pipeline_tag: image-classification
---
# Digits, federated

A small network for scikit-learn's digits (8 x 8 pixels, scaled to 0 to 1), trained by devices that
keep their digits to themselves.
"""


class Maintainer:
    """Opens and follows a training by plain HTTP."""

    def __init__(self, ref: str) -> None:
        self.url = os.environ.get("HUB_URL", "http://127.0.0.1:8000").rstrip("/")
        self.address = f"{self.url}/api/v1/models/{ref}"

    def get(self, path: str) -> Any:
        return json.loads(self.get_bytes(path))

    def get_bytes(self, path: str) -> bytes:
        return self._send("GET", path)

    def post(self, path: str, content: dict[str, Any]) -> Any:
        return json.loads(self._send("POST", path, json.dumps(content).encode()))

    def put(self, path: str, content: dict[str, Any]) -> Any:
        return json.loads(self._send("PUT", path, json.dumps(content).encode()))

    def _send(self, method: str, path: str, body: bytes | None = None) -> bytes:
        headers = {"Authorization": f"Bearer {os.environ['HUB_TOKEN']}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(
            f"{self.address}{path}", data=body, headers=headers, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            sys.exit(f"{method} {path}: {error.read().decode()}")


def main() -> None:
    """Run the whole example."""
    asked = arguments()
    libraries = chosen_libraries(asked)
    train, test = digits.load()
    print(f"centralised, {asked.epochs * asked.rounds} epochs: ", end="", flush=True)
    central = with_numpy.train(model.beginning(), train, asked.epochs * asked.rounds, seed=0)
    print(f"{with_numpy.accuracy(central, test):.3f}")
    ref, maintainer, training = open_training(asked)
    invite = maintainer.post(f"{training}/invites", {"uses": digits.DEVICES})["code"]
    shares = [len(part) for part in digits.deal(train, asked.alpha, asked.seed)]
    print(
        f"devices: {', '.join(f'{n} ({name})' for n, name in zip(shares, libraries, strict=True))}"
    )
    with tempfile.TemporaryDirectory() as folder:
        # Each device would be a machine of its own, with a configuration folder of its own.
        devices = [
            start(asked, ref + training, invite, k, libraries[k], Path(folder))
            for k in range(digits.DEVICES)
        ]
        try:
            follow(maintainer, training, asked.rounds, test, Path(folder), devices)
        finally:
            for device in devices:
                device.terminate()
    print(f"the result: {maintainer.url}/models/{ref}")


def chosen_libraries(asked: argparse.Namespace) -> list[str]:
    """Give each device a library: PyTorch and numpy in turn, where there is PyTorch."""
    has_torch = importlib.util.find_spec("torch") is not None and not asked.numpy_only
    if not has_torch:
        print("Without PyTorch: devices train with numpy.")
    chosen = [
        "torch" if has_torch and device % 2 == 0 else "numpy" for device in range(digits.DEVICES)
    ]
    return [*chosen[:-1], "ort"] if asked.ort_python else chosen


def open_training(asked: argparse.Namespace) -> tuple[str, Maintainer, str]:
    """Publish the untrained network and open a training on it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(model.to_onnx(model.beginning()))
        version = hub.push(asked.model, path, card=CARD, message="Untrained")
    maintainer = Maintainer(asked.model)
    schedule = {
        "quorum": digits.DEVICES, "target": digits.DEVICES, "round_seconds": 300,
        "poll_seconds": 1, "most_rounds": asked.rounds,
    }  # fmt: skip
    told = maintainer.post(
        "/trainings",
        {
            "version": version["number"], "title": "Digits", "schedule": schedule,
            "release_every": 0, "release_best": "highest",
            "hyperparameters": {"proximal": asked.proximal},
        },
    )  # fmt: skip
    path = f"/trainings/{told['number']}"
    while (told := maintainer.get(path))["state"] == "draft":
        if told["refusal"]:
            sys.exit(f"The hub refuses to train it: {told['refusal']}")
        time.sleep(0.5)
    return asked.model, maintainer, path


def start(
    asked: argparse.Namespace, ref: str, invite: str, device: int, library: str, folder: Path
) -> subprocess.Popen[bytes]:
    """Start a device. It knows the hub's address and its invitation, and has no account."""
    environment = {name: value for name, value in os.environ.items() if name != "HUB_TOKEN"}
    environment |= {
        "XDG_CONFIG_HOME": str(folder / f"{device}" / "config"),
        "HUB_CACHE": str(folder / f"{device}" / "cache"),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    python = asked.ort_python if library == "ort" else sys.executable
    command = [
        python, "device.py", ref, "--invite", invite, "--device", str(device),
        "--library", library, "--epochs", str(asked.epochs), "--alpha", str(asked.alpha),
        "--seed", str(asked.seed), "--encoding", asked.encoding,
    ]  # fmt: skip
    return subprocess.Popen(command, cwd=HERE, env=environment)


def follow(
    maintainer: Maintainer,
    training: str,
    rounds: int,
    test: digits.Samples,
    folder: Path,
    devices: list[subprocess.Popen[bytes]],
) -> None:
    """Print what each round's result reads right, as ONNX Runtime runs it."""
    (folder / "model.onnx").write_bytes(maintainer.get_bytes(f"{training}/skeleton"))
    began = time.monotonic()
    for number in range(1, rounds + 1):
        address = f"{training}/rounds/{number}"
        while (found := maintainer.get(address))["state"] in LIVE:
            if any(device.poll() not in {None, 0} for device in devices):
                sys.exit("A device has ended.")
            time.sleep(0.3)
        if found["state"] != "aggregated":
            sys.exit(f"Round {number} is {found['state']}: {found['reason']}")
        weights = maintainer.get_bytes(f"{address}/result")
        (folder / "weights.safetensors").write_bytes(weights)
        score = accuracy(onnxruntime.InferenceSession(folder / "model.onnx"), test)
        maintainer.put(f"{address}/score", {"score": score})
        print(f"round {number:3}: {score:.3f}  ({time.monotonic() - began:.0f} s)", flush=True)
    best, score = best_version(maintainer, training, test)
    print(f"version {best}, of the best round, read through hub.session: {score:.3f}", flush=True)


def best_version(maintainer: Maintainer, training: str, test: digits.Samples) -> tuple[int, float]:
    """Wait for the version that the best round becomes, and load it as anybody would."""
    rounds = maintainer.get(f"{training}/rounds?limit=100")["items"]
    version = next(found["version"] for found in rounds if found["version"])
    ref = maintainer.address.split("/models/")[1]
    while (state := maintainer.get(f"/versions/{version}")["state"]) != "published":
        if state == "failed":
            sys.exit(f"The checks refused version {version}.")
        time.sleep(0.5)
    return version, accuracy(hub.session(f"{ref}@{version}"), test)


def accuracy(session: onnxruntime.InferenceSession, test: digits.Samples) -> float:
    logits = session.run(None, {"pixels": test.pixels})[0]
    return float((np.argmax(logits, axis=1) == test.labels).mean())


LIVE = {"open", "closing"}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="", help="namespace/name; yours by default")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--epochs", type=int, default=8, help="of each device in each round")
    parser.add_argument("--alpha", type=float, default=0.3, help="how uneven the digits are dealt")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--encoding", default="delta/f32")
    parser.add_argument("--proximal", type=float, default=0.0, help="factor mu of FedProx")
    parser.add_argument("--numpy-only", action="store_true")
    parser.add_argument(
        "--ort-python", default="", metavar="PYTHON",
        help="the Python of an environment with requirements-ort.txt: one device trains by it",
    )  # fmt: skip
    asked = parser.parse_args()
    if "HUB_TOKEN" not in os.environ:
        parser.error("set HUB_TOKEN: hub token create --user NAME --scope write")
    if not asked.model:
        own = hub.login(os.environ["HUB_TOKEN"])["namespaces"]
        if not own:
            parser.error("this token has no namespace: name one with --model namespace/name")
        asked.model = f"{own[0]['slug']}/digits-federated"
    return asked


if __name__ == "__main__":
    try:
        main()
    except hub.errors.HubError as error:
        sys.exit(str(error))
