"""A runtime of which one operator has gone wrong, to be found out by conformance."""

from __future__ import annotations

import onnx
from onnx.reference import ReferenceEvaluator

from runners.engine import runtimes

_real_of = runtimes.of


class Faulty:
    """The reference, but for every output of one operator, which is changed."""

    name = "faulty"
    optimises = False
    widens_half = False

    def __init__(self, operator, change, *, optimises=False):
        self._operator = operator
        self._change = change
        self.optimises = optimises

    @classmethod
    def instead(cls, operator, change, name="faulty", **others):
        made = cls(operator, change, **others)
        made.name = name
        return lambda asked: made if asked == name else _real_of(asked)

    def version(self):
        return "0"

    def open(self, path, *, optimise=True, outputs=(), folder=None):
        model = onnx.load(str(path), load_external_data=False)
        wanted = list(outputs) or [port.name for port in model.graph.output]
        sound = self.optimises and not optimise
        spoiled = set() if sound else self._spoiled(model)

        def run(values):
            held = dict(values)
            for node in model.graph.node:
                made = self._run_one(path, node, held)
                held |= made if node.output[0] not in spoiled else self._change_all(made)
            return [held[name] for name in wanted]

        return run

    def _spoiled(self, model):
        nodes = [node for node in model.graph.node if node.op_type == self._operator]
        return {name for node in nodes for name in node.output}

    def _change_all(self, values):
        return {name: self._change(value).astype(value.dtype) for name, value in values.items()}

    def _run_one(self, path, node, held):
        """Run one node on what is held, which may already be wrong."""
        model = onnx.load(str(path))
        del model.graph.node[:]
        model.graph.node.append(node)
        known = {tensor.name for tensor in model.graph.initializer}
        del model.graph.input[:]
        for name, value in held.items():
            if name not in known:
                kind = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
                model.graph.input.append(onnx.helper.make_tensor_value_info(name, kind, None))
        del model.graph.output[:]
        names = [name for name in node.output if name]
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
        return dict(zip(names, ReferenceEvaluator(model).run(None, held), strict=True))
