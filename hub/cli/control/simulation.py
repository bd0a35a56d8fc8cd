"""The command `hub training simulate`: a training on this machine before one opens on a hub.

The model is split, contributions are encoded, judged and aggregated by the code that devices and
hubs run. How a device trains is the user's own code: a file with two functions,

    train(tensors, x, y, seed) -> tensors
    right(tensors, x, y) -> int

where tensors are arrays by name, x and y the examples of a device and their labels.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hub.protocol import federated, privacy, problems
from hub.protocol.training_rules import Rules
from hub.terminal import DONE

if TYPE_CHECKING:
    from hub.client.training.tensors import Tensors
    from runners.engine.federated.simulation import Hub, Sent

EVENLY, BY_LABEL, BY_GROUP = "iid", "dirichlet", "group"
_ATTACKS = ("none", "reversed", "random", "opposed")


@dataclass(frozen=True, slots=True)
class RoundFigures:
    """One round: ``accuracy`` on the examples for testing, ``epsilon`` of all rounds so far.

    Without noise there is no epsilon. ``sent_bytes`` are those of all devices, ``device_seconds``
    is the time of the slowest device, ``hub_seconds`` that of judging and aggregating.
    """

    round: int
    accuracy: float
    epsilon: float | None
    sent_bytes: int
    rejected: int
    device_seconds: float
    hub_seconds: float


@dataclass(frozen=True, slots=True)
class Device:
    """The examples of one device."""

    x: Any
    y: Any


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    parser.add_argument("model", type=Path, help="ONNX file to train")
    parser.add_argument("--data", type=Path, required=True, help=".npz file with x, y and group")
    parser.add_argument(
        "--code", type=Path, required=True, help="Python file with functions train and right"
    )
    parser.add_argument("--rules", default="{}", help="rules as JSON, as of a training")
    parser.add_argument("--roles", default="{}", help="patterns of tensor names by role, as JSON")
    parser.add_argument("--devices", type=int, default=10, help="number of devices (default: 10)")
    parser.add_argument("--rounds", type=int, default=10, help="number of rounds (default: 10)")
    parser.add_argument(
        "--split",
        default=EVENLY,
        help="iid, dirichlet:ALPHA by label, or group, a device for each group (default: iid)",
    )
    parser.add_argument(
        "--encoding",
        choices=federated.ENCODINGS,
        default=federated.DELTA,
        help="encoding of contributions (default: delta/f32)",
    )
    parser.add_argument("--attack", choices=_ATTACKS, default="none", help="what attackers send")
    parser.add_argument("--attackers", type=int, default=0, help="number of attackers (default: 0)")
    parser.add_argument("--test", type=float, default=0.2, help="share for testing (default: 0.2)")
    parser.add_argument("--seed", type=int, default=0, help="seed of all draws (default: 0)")


def run(options: argparse.Namespace) -> int:
    """Run the command; print a line for each round as it ends."""
    rows = []
    if not options.json:
        print("round  accuracy  epsilon       bytes  rejected  device s   hub s")
    for row in simulate(options):
        rows.append(asdict(row))
        if not options.json:
            epsilon = "none" if row.epsilon is None else f"{row.epsilon:.2f}"
            print(
                f"{row.round:5}  {row.accuracy:8.4f}  {epsilon:>7}  {row.sent_bytes:10}  "
                f"{row.rejected:8}  {row.device_seconds:8.2f}  {row.hub_seconds:6.2f}",
                flush=True,
            )
    if options.json:
        print(json.dumps({"seed": options.seed, "rounds": rows}))
    return DONE


def simulate(options: argparse.Namespace) -> Iterator[RoundFigures]:
    """Run a training round by round; raises InvalidRequest for options that do not fit.

    All figures but the times follow from the options.
    """
    import numpy as np  # noqa: PLC0415  (each command imports what it needs)

    # In a wheel the rooms lie below the server's package, which puts them on the path.
    import hub.server  # noqa: F401, PLC0415
    from hub.client.training import tensors as training_tensors  # noqa: PLC0415
    from runners.engine.federated.aggregation import UnfitError  # noqa: PLC0415

    train, right = _functions(options.code)
    draw = np.random.default_rng(options.seed)
    devices, test = _dealt(options, draw)
    simulated = _hub(options)
    encoders = [training_tensors.Encoder(simulated.parts) for _ in devices]
    for number in range(1, options.rounds + 1):
        base = _tensors(simulated)
        trained, slowest = _train(train, base, devices, options.seed + 1000 * number)
        updates = _attacked(options, base, trained, draw)
        began = time.perf_counter()
        sent = [
            _sent(str(device), encoder, base, update, options.encoding, len(devices[device].y))
            for device, (encoder, update) in enumerate(zip(encoders, updates, strict=True))
        ]
        try:
            rejected = simulated.aggregate(sent)
        except UnfitError as error:
            raise problems.InvalidRequest(str(error)) from error
        hub_seconds = time.perf_counter() - began
        yield RoundFigures(
            round=number,
            accuracy=right(_tensors(simulated), test.x, test.y) / len(test.y),
            epsilon=_epsilon(simulated.rules, number),
            sent_bytes=sum(len(contribution.content) for contribution in sent),
            rejected=len(rejected),
            device_seconds=slowest,
            hub_seconds=hub_seconds,
        )


def _functions(path: Path) -> tuple[Callable[..., Tensors], Callable[..., int]]:
    spec = importlib.util.spec_from_file_location("simulated_device", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise problems.InvalidRequest(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        return module.train, module.right
    except AttributeError as error:
        raise problems.InvalidRequest(
            f"{path} needs train(tensors, x, y, seed) and right(tensors, x, y)."
        ) from error


def _dealt(options: argparse.Namespace, draw: Any) -> tuple[list[Device], Device]:
    """The examples of each device, and those for testing; a device without any takes no part."""
    import numpy as np  # noqa: PLC0415

    from runners.engine.federated import simulation  # noqa: PLC0415

    with np.load(options.data, allow_pickle=False) as data:
        arrays = {name: data[name] for name in data.files}
    if not {"x", "y"} <= arrays.keys():
        raise problems.InvalidRequest(f"{options.data} needs arrays x and y.")
    x, y = arrays["x"], arrays["y"]
    order = draw.permutation(len(y))
    tested, trained = np.split(order, [max(1, int(options.test * len(y)))])
    name, _, alpha = options.split.partition(":")
    if name == EVENLY:
        places = simulation.deal_evenly(len(trained), options.devices, draw)
    elif name == BY_LABEL and _is_positive(alpha):
        places = simulation.deal_by_label(y[trained], options.devices, float(alpha), draw)
    elif name == BY_GROUP and "group" in arrays:
        groups = arrays["group"][trained]
        places = [np.flatnonzero(groups == group).tolist() for group in np.unique(groups)]
    else:
        raise problems.InvalidRequest(
            "Choose --split iid, dirichlet:ALPHA with a number above 0, or group with an array "
            "group in the data."
        )
    devices = [Device(x[trained[of]], y[trained[of]]) for of in places if of]
    if options.attackers >= len(devices):
        raise problems.InvalidRequest("There must be fewer attackers than devices with examples.")
    return devices, Device(x[tested], y[tested])


def _is_positive(text: str) -> bool:
    try:
        return 0 < float(text) < float("inf")
    except ValueError:
        return False


def _hub(options: argparse.Namespace) -> Hub:
    import onnx  # noqa: PLC0415

    from runners.engine.federated import simulation, splitting  # noqa: PLC0415

    try:
        rules, roles = Rules.from_json(json.loads(options.rules)), json.loads(options.roles)
    except json.JSONDecodeError as error:
        raise problems.InvalidRequest(f"Rules and roles must be JSON: {error}.") from error
    split = splitting.split(onnx.load(options.model, load_external_data=False), roles)
    if refusals := [each.message for each in split.findings if each.severity == "error"]:
        raise problems.InvalidRequest(" ".join(refusals))
    with tempfile.TemporaryDirectory(prefix="hub-simulation-") as folder:
        splitting.write(split, options.model.parent, Path(folder))
        weights = (Path(folder) / federated.WEIGHTS).read_bytes()
    return simulation.Hub(split.parts, rules, weights, seed=str(options.seed))


def _tensors(hub: Hub) -> Tensors:
    """The weights that the hub has, as a device reads them."""
    from hub.client.training import tensors  # noqa: PLC0415

    with tempfile.NamedTemporaryFile(prefix="hub-simulation-") as file:
        file.write(hub.weights)
        file.flush()
        return tensors.read(Path(file.name))


def _train(
    train: Callable[..., Tensors], base: Tensors, devices: Sequence[Device], seed: int
) -> tuple[list[Tensors], float]:
    """What each device trained, and the seconds of the slowest."""
    trained, slowest = [], 0.0
    for number, device in enumerate(devices):
        began = time.perf_counter()
        own = {name: values.copy() for name, values in base.items()}
        trained.append(train(own, device.x, device.y, seed + number))
        slowest = max(slowest, time.perf_counter() - began)
    return trained, slowest


def _attacked(
    options: argparse.Namespace, base: Tensors, trained: Sequence[Tensors], draw: Any
) -> list[Tensors]:
    """What devices send: the first ones are the attackers."""
    import numpy as np  # noqa: PLC0415

    from runners.engine.federated import simulation  # noqa: PLC0415

    changes = [{name: of[name] - base[name] for name in of} for of in trained]
    others = changes[options.attackers :]
    honest = {name: np.mean([change[name] for change in others], axis=0) for name in others[0]}
    attack, sent = simulation.Attack(options.attack), list(trained)
    for place in range(options.attackers):
        change = simulation.attacked(attack, changes[place], honest, draw)
        sent[place] = {name: base[name] + change[name] for name in change}
    return sent


def _sent(
    name: str, encoder: Any, base: Tensors, update: Tensors, encoding: str, examples: int
) -> Sent:
    from hub.client.training import tensors  # noqa: PLC0415
    from runners.engine.federated.simulation import Sent  # noqa: PLC0415

    values, _ = encoder.encode(base, update, encoding, keep=0.1)
    encoder.commit()
    with tempfile.NamedTemporaryFile(prefix="hub-simulation-") as file:
        tensors.write(Path(file.name), values)
        return Sent(name, Path(file.name).read_bytes(), encoding, examples)


def _epsilon(rules: Rules, rounds: int) -> float | None:
    if rules.noise_multiplier is None or rules.delta is None:
        return None
    return privacy.epsilon([privacy.Term(rounds, rules.noise_multiplier)], rules.delta)
