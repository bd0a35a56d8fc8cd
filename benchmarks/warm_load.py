"""What an unpinned `hub.load` of a cached model takes beyond `onnx.load` of its file.

The load asks the hub in one conditional request whether the name still means the same version. The
two alternate in one process, so that their difference holds although the machine is busy.

    HUB_URL=http://127.0.0.1:8000 python benchmarks/warm_load.py zoo/resnet50 --rounds 100
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import TYPE_CHECKING

import onnx

from hub.client import loading
from hub.client.hub import Hub

if TYPE_CHECKING:
    from collections.abc import Callable


def milliseconds(call: Callable[[], object]) -> float:
    """How long a call takes."""
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1000


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("ref", help="a model, without a number")
    parser.add_argument("--rounds", type=int, default=100)
    options = parser.parse_args()
    client = Hub()
    folder = client.download(options.ref)
    path = folder / loading.entry_of(client.resolve(options.ref)).path
    client.load(options.ref)
    pairs = [
        (milliseconds(lambda: client.load(options.ref)), milliseconds(lambda: onnx.load(path)))
        for _ in range(options.rounds)
    ]
    more = sorted(hub - plain for hub, plain in pairs)
    print(f"hub.load   {statistics.median(pair[0] for pair in pairs):8.2f} ms (median)")
    print(f"onnx.load  {statistics.median(pair[1] for pair in pairs):8.2f} ms (median)")
    print(f"difference {statistics.median(more):8.2f} ms (median of pairs), "
          f"{more[int(len(more) * 0.9)]:.2f} ms (90 %)")  # fmt: skip


if __name__ == "__main__":
    main()
