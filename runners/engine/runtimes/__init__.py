"""One face for every runtime: open a model, run it on named values, one thread.

A runtime is imported only when asked for, so an environment holds any of them or just one.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, Protocol, TypeAlias, TypeVar

from hub.protocol.vocabularies import ONNXRUNTIME, OPENVINO, REFERENCE

if TYPE_CHECKING:
    from runners.engine.onnx_files.datasets import Value

Run: TypeAlias = "Callable[[dict[str, Value]], list[Value]]"
_P = ParamSpec("_P")
_T = TypeVar("_T")
# name: (our module, the package whose presence makes it available)
_MODULES = {
    ONNXRUNTIME: ("onnxruntime_cpu", "onnxruntime"),
    REFERENCE: ("onnx_reference", "onnx"),
    OPENVINO: ("openvino_cpu", "openvino"),
}


class MissingRuntimeError(LookupError):
    """The runtime is unknown, or not installed in this environment."""


class LoadError(Exception):
    """The runtime does not load the model; the message is the library's."""


class UnsupportedModelError(LoadError):
    """The runtime says that it does not support the model: an operator, a version, a type."""


class UnpreparedError(LoadError):
    """This machine lacks something that the runtime needs; the model is not at fault."""


class Runtime(Protocol):
    """A runtime by its name."""

    name: str
    # Whether `optimise=False` makes a difference to what it runs.
    optimises: bool
    # Whether it computes float16 in float32.
    widens_half: bool

    def version(self) -> str:
        """Tell the version of the installed package."""

    def open(
        self,
        path: Path,
        *,
        optimise: bool = True,
        outputs: Sequence[str] = (),
        folder: Path | None = None,
    ) -> Run:
        """Load a model for running; the callable gives the values of the graph's outputs in order.

        `outputs` names values of the main graph to give instead; `folder` is where external data
        lies, if not beside the model. Text goes in and comes out as
        object arrays of str, bf16 and fp8 as ml_dtypes, an output without value as None. Raises
        UnsupportedModelError where the runtime says that it does not support the model, LoadError
        where it refuses it otherwise, and whatever the library raises while running.
        """

    def trace(self, path: Path, *, folder: Path) -> tuple[Run, Callable[[], list[str]]]:
        """Load a model unoptimised, so that its nodes run as they are written.

        The second callable ends the session and names the nodes that ran, those of inner graphs
        too, in the order in which they ended. Raises what `open` raises.
        """


def attempt(call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T | Exception:
    """What a library's call gives, or the exception that it raises.

    A library may raise anything; only a MemoryError goes on, and ends the child.
    """
    try:
        return call(*args, **kwargs)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - see above
        return error


def names() -> list[str]:
    """List the runtimes installed here; imports none of them."""
    return [name for name, (_, package) in _MODULES.items() if importlib.util.find_spec(package)]


def of(name: str) -> Runtime:
    """Give a runtime by name. Raises MissingRuntimeError if unknown or not installed."""
    if name not in _MODULES:
        raise MissingRuntimeError(f"Unknown runtime {name!r}.")
    module, package = _MODULES[name]
    if importlib.util.find_spec(package) is None:
        raise MissingRuntimeError(f"The runtime {name} is not installed in this environment.")
    loaded = importlib.import_module(f"{__name__}.{module}")
    runtime: Runtime = loaded.RUNTIME
    return runtime
