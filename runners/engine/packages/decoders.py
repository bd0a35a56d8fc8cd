"""A decoder with a key-value cache: its inputs and outputs by role, and passes over tokens.

Roles come from the config of the package and from the names that exporters give; all of it is read
in the child that runs the decoder.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from hub.protocol.packages import GENAI_CONFIG
from hub.protocol.stored import mapping, text, wholes
from runners.engine import runtimes
from runners.engine.onnx_files.datasets import required_inputs
from runners.engine.packages import caches, genai, optimum
from runners.engine.packages.caches import number_of
from runners.engine.packages.folder import quoted

if TYPE_CHECKING:
    import onnx

    from runners.engine.onnx_files.datasets import Value

Array = np.ndarray[Any, Any]
_TOKENS = ("input_ids", "decoder_input_ids")
_MASK, _POSITIONS, _BRANCH, _SCORES = (
    "attention_mask",
    "position_ids",
    "use_cache_branch",
    "logits",
)
_CONTEXTS = ("max_position_embeddings", "n_positions", "n_ctx", "max_sequence_length")


class UnusableDecoderError(Exception):
    """The decoder has an input or output that cannot be filled; the message says which."""


def config_of(paths: Collection[str], entry: str) -> str:
    """The config of the package that a decoder belongs to, the nearest above it; empty without."""
    folder = entry
    while folder:
        folder = posixpath.dirname(folder)
        for name in (GENAI_CONFIG, optimum.CONFIG):
            if (path := posixpath.join(folder, name)) in paths:
                return path
    return ""


@dataclass(frozen=True, slots=True)
class Declarations:
    """What a config says of its decoder: names by role, sizes, and the tokens that end a text.

    ``past`` has the inputs of the cache with the outputs that continue them.
    """

    names: Mapping[str, str]
    past: Mapping[str, str]
    key_value_heads: int | None
    head_size: int | None
    vocabulary: int | None
    context: int | None
    ends: tuple[int, ...]

    @classmethod
    def of(cls, config: Mapping[str, Any], ports: Collection[str]) -> Declarations:
        """Read a `genai_config.json` or a `config.json`; ``ports`` are the inputs of the graph."""
        if "model" in config:
            return cls._of_genai(mapping(config["model"]))
        whole_config = {**config, **mapping(config.get("text_config"))}
        past = {name: name.replace("past_key_values", "present") for name in caches.named(ports)}
        return cls(
            {"input_ids": next((name for name in _TOKENS if name in ports), _TOKENS[0])},
            past,
            None,
            None,
            number_of(whole_config, "vocab_size").value,
            number_of(whole_config, *_CONTEXTS).value,
            _ends(whole_config),
        )

    @classmethod
    def _of_genai(cls, model: Mapping[str, Any]) -> Declarations:
        part = mapping(model.get("decoder"))
        inputs, outputs = mapping(part.get("inputs")), mapping(part.get("outputs"))
        layers = number_of(part, "num_hidden_layers").value or 0
        past: dict[str, str] = {}
        for kind in ("key", "value"):
            names = genai.expanded(text(inputs.get(f"past_{kind}_names")), layers)
            continued = genai.expanded(text(outputs.get(f"present_{kind}_names")), layers)
            past |= zip(names, continued, strict=False)
        return cls(
            {role: text(name) for role, name in (inputs | outputs).items() if text(name)},
            past,
            number_of(part, "num_key_value_heads").value,
            number_of(part, "head_size").value,
            number_of(model, "vocab_size").value,
            number_of(model, "context_length").value,
            _ends(model),
        )


def _ends(config: Mapping[str, Any]) -> tuple[int, ...]:
    value = config.get("eos_token_id")
    return tuple(wholes(value if isinstance(value, list) else [value]))


@dataclass(frozen=True, slots=True)
class Ports:
    """The inputs and outputs of a decoder; those it does not have are empty.

    ``past`` has the inputs of the cache with the outputs that continue them, and ``shape`` their
    heads and the size of a head.
    """

    tokens: str
    mask: str
    positions: str
    branch: str
    scores: str
    past: Mapping[str, str]
    shape: tuple[int, int]
    types: Mapping[str, np.dtype[Any]]
    outputs: tuple[str, ...]
    vocabulary: int

    @classmethod
    def of(cls, model: onnx.ModelProto, declared: Declarations) -> Ports:
        """Find the ports of a graph; raises UnusableDecoderError."""
        inputs = {port.name: port.type.tensor_type for port in required_inputs(model)}
        outputs = tuple(port.name for port in model.graph.output)
        roles = {
            role: name
            for role in (_TOKENS[0], _MASK, _POSITIONS, _BRANCH)
            if (name := declared.names.get(role, role)) in inputs
        }
        past = {name: after for name, after in declared.past.items() if name in inputs}
        scores = declared.names.get(_SCORES, _SCORES)
        missing = [name for name in (scores, *past.values()) if name not in outputs]
        others = [name for name in inputs if name not in past and name not in roles.values()]
        if _TOKENS[0] not in roles or not past or missing or others:
            raise UnusableDecoderError(_lack(past, missing, others))
        heads, size = _sizes([inputs[name] for name in past], declared)
        width = next(port for port in model.graph.output if port.name == scores)
        dims = width.type.tensor_type.shape.dim
        vocabulary = declared.vocabulary or (dims[-1].dim_value if dims else 0)
        if vocabulary < 2:
            raise UnusableDecoderError("The size of the vocabulary is not known.")
        return cls(
            roles[_TOKENS[0]],
            roles.get(_MASK, ""),
            roles.get(_POSITIONS, ""),
            roles.get(_BRANCH, ""),
            scores,
            past,
            (heads, size),
            {
                name: np.dtype(helper.tensor_dtype_to_np_dtype(kind.elem_type))
                for name, kind in inputs.items()
            },
            outputs,
            vocabulary,
        )

    def cache_bytes(self, length: int) -> int:
        """Bytes of the cache of one sequence of this length."""
        each = sum(self.types[name].itemsize for name in self.past)
        return each * self.shape[0] * self.shape[1] * length

    def empty(self, batch: int, length: int = 0) -> Caches:
        """A cache of noughts for sequences of a length."""
        shape = (batch, self.shape[0], length, self.shape[1])
        return {name: np.zeros(shape, self.types[name]) for name in self.past}


Caches = dict[str, "Value"]


def _lack(past: Mapping[str, str], missing: list[str], others: list[str]) -> str:
    if others:
        return f"It is not known how to fill the input {quoted(others[0])}."
    if missing:
        return f"The graph has no output {quoted(missing[0])}."
    if not past:
        return "The decoder has no cache."
    return "The decoder has no input of tokens."


def _sizes(kinds: Sequence[Any], declared: Declarations) -> tuple[int, int]:
    """The heads of the cache and their size, by the graph or else the config."""
    for kind in kinds:
        dims = kind.shape.dim
        if len(dims) != 4 or dims[2].HasField("dim_value"):
            raise UnusableDecoderError("The cache has no form of batch, heads, length, size.")
    dims = kinds[0].shape.dim
    heads = dims[1].dim_value or declared.key_value_heads
    size = dims[3].dim_value or declared.head_size
    if not heads or not size:
        raise UnusableDecoderError("Neither graph nor config states the heads and their size.")
    return heads, size


class Decoder:
    """Passes of a decoder over tokens, in a session that is open."""

    def __init__(self, run: runtimes.Run, ports: Ports) -> None:
        self._run = run
        self.ports = ports

    def after(self, tokens: Array, caches: Caches | None = None) -> tuple[Array, Caches]:
        """The scores behind the last of these tokens, [batch, vocabulary], and the cache then."""
        ports = self.ports
        batch, count = tokens.shape
        caches = ports.empty(batch) if caches is None else caches
        before = np.asarray(next(iter(caches.values()))).shape[2]
        feeds: dict[str, Any] = {ports.tokens: tokens, **caches}
        if ports.mask:
            feeds[ports.mask] = np.ones((batch, before + count))
        if ports.positions:
            places = np.arange(before, before + count)
            feeds[ports.positions] = np.broadcast_to(places, (batch, count))
        if ports.branch:
            feeds[ports.branch] = np.array([before > 0])
        feeds = {name: np.asarray(value, ports.types[name]) for name, value in feeds.items()}
        values = dict(zip(ports.outputs, self._run(feeds), strict=True))
        scores = np.asarray(values[ports.scores])[:, -1].astype(np.float32)
        return scores, {name: values[later] for name, later in ports.past.items()}

    def greedy(self, tokens: Array) -> Iterator[tuple[int, float]]:
        """Each next token of one sequence, and by how much its score exceeds the second best."""
        scores, caches = self.after(tokens)
        while True:
            second, best = np.partition(scores[0], -2)[-2:]
            token = int(scores[0].argmax())
            yield token, float(best - second)
            scores, caches = self.after(np.array([[token]]), caches)


def prompt(ports: Ports, ends: Collection[int], count: int, batch: int = 1) -> Array:
    """Seeded tokens that end no text, [batch, count]."""
    allowed = [token for token in range(min(ports.vocabulary, 10_000)) if token not in ends]
    return np.random.default_rng(count).choice(np.array(allowed or [0]), (batch, count))
