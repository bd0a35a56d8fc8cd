"""A device's side of a training, against a hub that is a Python object."""

from __future__ import annotations

import base64
import functools
import hashlib
import io
import json
import stat
import sys
import types
from contextlib import contextmanager

import numpy as np
import pytest

from hub.client.answers import Answer
from hub.client.hub import Hub
from hub.client.retries import Notices, Retries
from hub.client.training import identity, torch, training
from hub.protocol import federated, problems, safetensors
from hub.protocol.federated import Manifest, Part

REF = "zoo/digits/trainings/7"
PLACE = f"/api/v1/models/{REF}"
PARTS = (
    Part("w", "F32", (70, 90), "trainable"),
    Part("mean", "F32", (4,), "statistic"),
    Part("frozen", "F64", (2,), "frozen"),
)


def base_file():
    rng = np.random.default_rng(3)
    first, header = safetensors.make_header((one.name, one.dtype, one.shape) for one in PARTS)
    kinds = {"F32": "f4", "F64": "f8"}
    return first + b"".join(
        rng.standard_normal(one.shape).astype(kinds[one.dtype]).tobytes() for one in header.tensors
    )


class World:
    """The hub: one training with one round, and whatever went wrong on the way to it."""

    def __init__(self):
        self.base = base_file()
        self.rounds = iter(["task", "nothing", "over"])
        self.keys = {}
        self.taken = []
        self.pauses = []
        self.troubles = []
        self.encodings = list(federated.ENCODINGS)

    def request(self, method, address, *, content=None, body=None, headers=None, **_):
        if self.troubles and method == "PUT":
            raise self.troubles.pop()
        path = address.removeprefix(PLACE)
        if (method, path) == ("POST", "/participants"):
            return self.join(content)
        if path == "/schema":
            layout = [part.to_json() for part in PARTS]
            return answer({"layout": layout, "layout_digest": federated.layout_digest(PARTS)})
        if path == "/task":
            return self.task()
        if path == "/skeleton":
            return Answer(200, {}, b"skeleton", address)
        if method == "PUT":
            return self.take(headers, body)
        raise AssertionError((method, address))

    def get(self, address):
        return self.request("GET", address).json()

    def retries(self, sleep=None):
        return Retries(1.0, Notices("The hub"), sleep or self.pauses.append)

    @contextmanager
    def stream(self, address, headers=None, *, retries=None):
        yield io.BytesIO(self.base)

    def join(self, content):
        if content["invite"] != "code":
            raise problems.InviteInvalid
        self.keys["p_1"] = content["public_key"]
        return answer({"participant": "p_1", "token": "fp_secret", "training": "id"}, 201)

    def task(self):
        match next(self.rounds):
            case "nothing":
                return Answer(204, {"Retry-After": "5"}, b"", "")
            case "over":
                raise problems.TrainingOver
        digest = hashlib.sha256(self.base).hexdigest()
        told = {
            "training": "id",
            "round": 1,
            "nonce": "ab" * 16,
            "base": {
                "digest": f"sha256:{digest}",
                "bytes": len(self.base),
                "url": f"{PLACE}/rounds/1/base",
                "skeleton": {
                    "digest": f"sha256:{hashlib.sha256(b'skeleton').hexdigest()}",
                    "url": f"{PLACE}/skeleton",
                },
            },
            "layout_digest": federated.layout_digest(PARTS),
            "deadline": "2026-11-22T01:00:00Z",
            "encodings": self.encodings,
            "examples_cap": 100,
            "hyperparameters": {"epochs": 2},
        }
        return answer(told, 200, ETag='"1"')

    def take(self, headers, body):
        manifest = Manifest.from_json(json.loads(base64.b64decode(headers["Hub-Manifest"])))
        assert federated.verify(
            manifest.canonical(), headers["Hub-Signature"], self.keys[manifest.participant]
        )
        digest = hashlib.sha256(body)
        assert manifest.blob == f"sha256:{digest.hexdigest()}"
        claimed = base64.b64encode(digest.digest()).decode()
        assert headers["Content-Digest"] == f"sha-256=:{claimed}:"
        header = safetensors.read(io.BytesIO(body), len(body))
        federated.expect(header, PARTS, manifest.encoding)
        self.taken.append((manifest, header, body))
        return answer({"state": "received"}, 201)


def answer(said, status=200, **headers):
    return Answer(status, headers, json.dumps(said).encode(), "")


@pytest.fixture
def world(monkeypatch):
    made = World()
    made.config = None
    made.sleep = made.pauses.append
    made.tokens = []

    def connect(config, **_):
        made.config = config
        made.tokens.append(config.token)
        return made

    monkeypatch.setattr(training, "Transport", connect)
    monkeypatch.setattr(Hub, "transport", made, raising=False)
    monkeypatch.setattr("hub.client.hub.Transport", lambda _: made)
    return made


@pytest.fixture
def device(world):
    made = Hub("http://hub.example").training(REF)
    made.join("code")
    return made


def test_a_device_joins_once_and_is_remembered(world, device):
    assert device.participant == "p_1"
    assert world.tokens == [None, "fp_secret"]
    again = Hub("http://hub.example").training(REF)
    assert again.join("spent") == "p_1"
    place = identity.path_of("http://hub.example", REF, "default")
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert b"fp_secret" not in repr(identity.read(place)).encode()
    with pytest.raises(problems.InviteInvalid):
        Hub("http://hub.example").training(REF, device="other").join("spent")
    with pytest.raises(problems.NotAuthenticated, match="join"):
        Hub("http://hub.example").training(REF, device="other").pull()


def test_a_key_of_ones_own_is_used(world, tmp_path):
    (tmp_path / "key").write_bytes(bytes(range(32)))
    Hub("http://hub.example").training(REF, key=tmp_path / "key").join("code")
    assert world.keys["p_1"] == federated.public_key(bytes(range(32)))
    with pytest.raises(problems.InvalidRequest, match="32 bytes"):
        Hub("http://hub.example").training(REF, key=b"short")


@pytest.mark.parametrize("ref", ["zoo/digits", "zoo/digits/trainings/0", "zoo/trainings/7", ""])
def test_what_names_no_training(world, ref):
    with pytest.raises(problems.InvalidReference):
        Hub("http://hub.example").training(ref)


def decoded(taken):
    _manifest, header, body = taken
    kinds = {"F32": "<f4", "F16": "<f2", "I8": "i1", "U32": "<u4"}
    return {
        one.name: np.frombuffer(body, kinds[one.dtype], one.elements, header.data_start + one.start)
        for one in header.tensors
    }


def test_tasks_are_answered_until_the_training_is_over(world, device, tmp_path):
    rounds = []
    for task in device.tasks():
        rounds.append(task.round)
        assert task.hyperparameters == {"epochs": 2}
        trained = {name: values + 1 for name, values in task.tensors.items()}
        task.tensors["w"][:] = 0  # what a device does to its copies changes no difference
        said = device.push(trained, examples=1000, claims={"loss_after": 0.5})
        assert said == {"state": "received"}
        assert task.save(tmp_path / "here").read_bytes() == b"skeleton"
    assert rounds == [1]
    assert world.pauses == [5.0]
    manifest = world.taken[0][0]
    assert (manifest.n, manifest.round, manifest.encoding) == (100, 1, "delta/f32")
    assert manifest.claims == {"loss_after": 0.5, "rel_l2": 0}
    np.testing.assert_allclose(decoded(world.taken[0])["w"], 1, atol=1e-6)
    np.testing.assert_array_equal(device.state()["mean"].shape, (4,))


def test_a_hub_that_is_away_is_waited_for(world, device):
    world.troubles = [problems.Unreachable("cut"), problems.Unavailable("restarting")]
    task = device.pull()
    device.push(dict(task.tensors), examples=3)
    assert len(world.taken) == 1
    assert len(world.pauses) == 2
    world.troubles = [problems.RoundClosed("late")]
    with pytest.raises(problems.RoundClosed):
        device.push(dict(task.tensors), examples=3)


@pytest.mark.parametrize(
    ("encoding", "most"),
    [("full/f32", 0), ("delta/f16", 1e-3), ("delta/int8-b4096", 0.02), ("delta/topk", 0.9)],
)
def test_encodings_tell_what_they_lose(world, device, encoding, most):
    task = device.pull()
    change = np.random.default_rng(5).standard_normal((70, 90)).astype("f4")
    trained = {**task.tensors, "w": task.tensors["w"] + change}
    device.push(trained, examples=3, encoding=encoding, keep=0.1)
    manifest = world.taken[0][0]
    assert manifest.claims["rel_l2"] <= most
    sent = decoded(world.taken[0])
    match encoding:
        case "full/f32":
            np.testing.assert_array_equal(sent["w"].reshape(70, 90), trained["w"])
        case "delta/int8-b4096":
            scales = np.repeat(sent["w.scale"], 4096)[: 70 * 90]
            np.testing.assert_array_less(np.abs(sent["w"] * scales - change.ravel()), scales)
        case "delta/topk":
            assert len(sent["w.index"]) == 630
            # What was not sent goes with the next contribution.
            device.push(dict(task.tensors), examples=3, encoding=encoding, keep=1.0)
            rest = change.ravel() - np.bincount(sent["w.index"], sent["w.value"], 6300)
            np.testing.assert_allclose(decoded(world.taken[1])["w.value"], rest, atol=2e-3)


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda tensors: tensors.pop("w"), problems.TensorMismatch),
        (lambda tensors: tensors.update(more=np.ones(3)), problems.TensorMismatch),
        (lambda tensors: tensors.update(w=np.ones(3)), problems.TensorMismatch),
        (lambda tensors: tensors.update(mean=np.full(4, np.nan)), problems.NonFinite),
    ],
)
def test_what_cannot_fit_is_not_sent(world, device, spoil, problem):
    tensors = dict(device.pull().tensors)
    spoil(tensors)
    with pytest.raises(problem):
        device.push(tensors, examples=3)
    assert not world.taken


def test_an_encoding_must_be_one_of_the_trainings(world, device):
    world.encodings = ["delta/f16"]
    task = device.pull()
    with pytest.raises(problems.EncodingRefused):
        device.push(dict(task.tensors), examples=3, encoding="full/f32")
    device.push(dict(task.tensors), examples=3)
    assert world.taken[0][0].encoding == "delta/f16"


class Module:
    """As much of a PyTorch module as the adapter touches."""

    def __init__(self, names):
        self.own = {name: np.zeros(shape, "f4") for name, shape in names.items()}
        self.loaded = {}
        self.fixed = set()

    def named_parameters(self):
        for name in self.own:
            yield name, types.SimpleNamespace(requires_grad_=functools.partial(self._fix, name))

    def _fix(self, name, requires):
        assert not requires
        self.fixed.add(name)

    def state_dict(self):
        return self.own

    def load_state_dict(self, state, strict):
        assert not strict
        self.loaded = state


def test_a_module_takes_tensors_by_name_and_lacks_counters_alone(world, device, monkeypatch):
    monkeypatch.setitem(
        sys.modules, "torch", types.SimpleNamespace(from_numpy=lambda values: values)
    )
    task = device.pull()
    shapes = {"w": (70, 90), "mean": (4,), "frozen": (2,)}
    module = Module({**shapes, "norm.num_batches_tracked": ()})
    torch.load(module, task)
    assert set(module.loaded) == set(shapes)
    assert module.fixed == {"frozen"}
    # A frozen tensor may be one of the graph alone, such as the shape of a Reshape.
    graph_only = Module({name: shapes[name] for name in ("w", "mean")})
    torch.load(graph_only, task)
    assert set(graph_only.loaded) == {"w", "mean"}
    for wrong in ({**shapes, "more": (1,)}, {"w": (70, 90)}, {**shapes, "w": (90, 70)}):
        with pytest.raises(problems.TensorMismatch):
            torch.load(Module(wrong), task)


def test_a_base_that_was_damaged_meanwhile_is_fetched_again(world, device, tmp_path):
    task = device.pull()
    content = bytearray(task.weights.read_bytes())
    content[-1] ^= 1
    task.weights.chmod(0o644)
    task.weights.write_bytes(content)
    with pytest.raises(problems.CacheUnusable, match="damaged"):
        task.save(tmp_path / "model")
    device.push(task.tensors, examples=1, encoding="delta/f32")
    assert task.weights.read_bytes() == world.base
    task.save(tmp_path / "model")
    assert (tmp_path / "model" / federated.WEIGHTS).read_bytes() == world.base
