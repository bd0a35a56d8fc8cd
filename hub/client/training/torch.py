"""PyTorch modules in a training: weights in by name, strictly, and out again.

A name, a type and a shape do not prove that two layers mean the same, so a device always starts
from tensors of the hub, and nothing but counters of batches may be missing from them. The hub also
sends frozen tensors that only the graph has, such as the shape of a Reshape: these are left out.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from hub.protocol import federated, problems

if TYPE_CHECKING:
    from hub.client.training.tasks import Task
    from hub.client.training.tensors import Tensors

_COUNTER = "num_batches_tracked"


def load(module: Any, task: Task) -> None:
    """Put a task's tensors into a module; raises `TensorMismatch` unless all names and shapes fit.

    The module may have counters (`num_batches_tracked`) that the training does not know. Its
    parameters that the training freezes get `requires_grad = False`: what a device changed of them
    would not travel.
    """
    torch = _torch()
    weights = task.tensors
    own = module.state_dict()
    frozen = {part.name for part in task.parts if part.role == federated.FROZEN}
    missing = sorted(name for name in own if name not in weights and not name.endswith(_COUNTER))
    strange = sorted(name for name in weights if name not in own and name not in frozen)
    if missing or strange:
        raise problems.TensorMismatch(
            f"The module does not match the training: {_list(strange)} missing, {_list(missing)} "
            "not expected. Build it as for the export."
        )
    weights = {name: values for name, values in weights.items() if name in own}
    for name, values in weights.items():
        if tuple(own[name].shape) != values.shape:
            raise problems.TensorMismatch(
                f"{name!r} has shape {list(own[name].shape)} in the module but "
                f"{list(values.shape)} in the training."
            )
    bits = {part.name for part in task.parts if part.dtype == "BF16"}
    state = {}
    for name, values in weights.items():
        tensor = torch.from_numpy(values.copy())
        state[name] = tensor.view(torch.bfloat16) if name in bits else tensor
    module.load_state_dict(state, strict=False)
    for name, parameter in module.named_parameters():
        if name in frozen:
            parameter.requires_grad_(False)


def tensors(module: Any, task: Task) -> Tensors:
    """Give the module's tensors that travel in the training."""
    own = module.state_dict()
    return {
        part.name: own[part.name].detach().cpu().float().numpy()
        for part in federated.exchanged(task.parts)
    }


def _list(names: list[str]) -> str:
    return (", ".join(names[:5]) + (", …" if len(names) > 5 else "")) or "nothing"


def _torch() -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError:
        raise problems.LibraryMissing("This adapter needs PyTorch: pip install torch.") from None
