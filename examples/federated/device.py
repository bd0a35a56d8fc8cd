"""One device: it joins, and answers every task with what it learned from its own samples.

Where the training has evaluations, it also counts what two models read right of these samples.

python device.py REF --invite CODE --device 0 --library numpy
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

import digits
import with_numpy

import hub

if TYPE_CHECKING:
    from hub.client.training.tasks import EvaluationTask


def main() -> None:
    """Take part in a training until it is over."""
    asked = arguments()
    samples = digits.deal(digits.load()[0], asked.alpha, asked.seed)[asked.device]
    training = hub.training(asked.ref, device=f"device-{asked.device}")
    training.join(asked.invite, runtime=asked.library)

    def evaluate(task: EvaluationTask) -> tuple[int, int, int]:
        before, now = (with_numpy.right(of.tensors, samples) for of in (task.base, task.candidate))
        return len(samples), before, now

    for task in training.tasks(evaluate=evaluate):
        seed = 1000 * task.round + asked.device
        proximal = float(task.hyperparameters.get("proximal", 0.0))
        if asked.library == "torch":
            import with_torch

            trained = with_torch.train(task, samples, asked.epochs, seed, proximal)
        elif asked.library == "ort":
            if proximal:
                sys.exit("with_ort.py has no proximal term.")
            import with_ort

            trained = with_ort.train(task, samples, asked.epochs, seed)
        else:
            trained = with_numpy.train(task.tensors, samples, asked.epochs, seed, proximal)
        try:
            training.push(trained, examples=len(samples), encoding=asked.encoding)
        except (hub.errors.RoundClosed, hub.errors.StaleBase) as late:
            print(f"device {asked.device}: {late}", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ref", help="namespace/model/trainings/number")
    parser.add_argument("--invite", required=True)
    parser.add_argument("--device", type=int, required=True)
    parser.add_argument("--library", choices=("numpy", "torch", "ort"), default="numpy")
    parser.add_argument("--encoding", default="delta/f32")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--alpha", type=float, default=0.3)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
