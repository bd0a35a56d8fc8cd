"""Rows per second in Spark and in Ray beside ONNX Runtime alone, on the same rows and threads.

ONNX Runtime scores the rows in one process, in batches as large as the job's, on as many threads as
the job has tasks. The jobs are measured warm: a first run opens the models.

    HUB_URL=… python benchmarks/batch_scoring.py spark zoo/net@1 [--rows 20000] [--tasks 2]

Needs a hub with the model, which has one input of numbers, and the extra `spark` or `ray`.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

if TYPE_CHECKING:
    from collections.abc import Callable


def seconds(job: Callable[[], Any], runs: int) -> float:
    """What a run takes, the median of several after a first one."""
    job()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def in_spark(ref: str, rows: Any, tasks: int) -> Callable[[], Any]:
    """Score the rows of a cached frame; nothing is written."""
    from pyspark.sql import SparkSession

    import hub

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    spark = SparkSession.builder.master(f"local[{tasks}]").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    data = [(row.tolist(),) for row in rows]
    frame = spark.createDataFrame(data, "x array<float>").repartition(tasks).cache()
    assert frame.count() == len(rows)
    scored = frame.select(hub.spark.predict_udf(ref)("x"))
    return lambda: scored.write.format("noop").mode("overwrite").save()


def in_ray(ref: str, rows: Any, tasks: int) -> Callable[[], Any]:
    """Score the rows of a materialised data set; each run starts its actors."""
    import ray

    import hub

    ray.init(num_cpus=tasks, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    dataset = ray.data.from_numpy(rows).repartition(4 * tasks).materialize()
    name = hub.session(ref, ["CPUExecutionProvider"]).get_inputs()[0].name
    options = {"columns": {name: "data"}}
    return lambda: dataset.map_batches(
        hub.ray.Predictor, fn_constructor_args=(ref,), fn_constructor_kwargs=options,
        concurrency=tasks, num_cpus=0.9,
    ).materialize()  # fmt: skip


def main() -> None:
    """Print both throughputs and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", choices=("spark", "ray"))
    parser.add_argument("ref")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--tasks", type=int, default=2)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    import numpy as np

    from hub.bridges import scoring
    from hub.client import api

    model = scoring.pin(api.default_hub(), options.ref)
    shape = [size or 1 for size in model.inputs[0].shape]
    rows = np.random.default_rng(7).standard_normal((options.rows, *shape)).astype("float32")
    job = {"spark": in_spark, "ray": in_ray}[options.tool](options.ref, rows, options.tasks)
    scorer = model.open(options.tasks)
    alone = [seconds(lambda: scorer.run([rows]), options.runs)]
    inside = seconds(job, options.runs)
    alone.append(seconds(lambda: scorer.run([rows]), options.runs))
    plain = statistics.mean(alone)
    print(f"{options.ref}, {options.rows} rows of {shape}, {model.rows} in a batch")
    print(
        f"ONNX Runtime alone: {options.rows / plain:,.0f} rows/s ({alone[0]:.2f}, {alone[1]:.2f} s)"
    )
    print(f"{options.tool}: {options.rows / inside:,.0f} rows/s ({inside:.2f} s)")
    print(f"ratio: {plain / inside:.2f}")


if __name__ == "__main__":
    main()
