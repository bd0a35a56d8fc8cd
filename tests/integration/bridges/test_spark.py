"""Batch scoring in Spark by two processes of a machine: one download, results as elsewhere."""

from __future__ import annotations

import shutil

import pytest

from tests.integration.bridges.conftest import bridge, downloads

PROGRAM = """
import sys
import numpy, onnxruntime
from pyspark.sql import SparkSession, functions
import hub

folder = sys.argv[1]
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "2").getOrCreate()
)
rows = numpy.random.default_rng(7).standard_normal((500, 4)).astype("float32")
frame = spark.createDataFrame([(i, row.tolist(), *map(float, row)) for i, row in enumerate(rows)],
                              "id long, x array<float>, a double, b double, c double, d double")
predict = hub.spark.predict_udf("zoo/spark")
frame = frame.repartition(4).withColumn("y", predict("x"))
apart = predict(functions.array("a", "b", "c", "d"))
frame.withColumn("z", apart).write.parquet(f"{folder}/out")

back = spark.read.parquet(f"{folder}/out")
metadata = back.schema["y"].metadata
assert metadata["hub.ref"] == "zoo/spark@1:default", metadata
assert metadata["hub.sha256"] == hub.info("zoo/spark")["version"]["manifest_sha256"].removeprefix(
    "sha256:"
), metadata
table = back.orderBy("id").collect()
session = hub.session("zoo/spark", providers=["CPUExecutionProvider"])
expected = session.run(None, {session.get_inputs()[0].name: rows})[0]
for column in "yz":
    numpy.testing.assert_allclose([row[column] for row in table], expected, rtol=1e-5)
hosts = frame.select(functions.spark_partition_id()).distinct().count()
print("rows", len(table), "partitions", hosts)
spark.stop()
"""


def test_tasks_score_with_one_download(publish, hub, run, tmp_path):
    if shutil.which("java") is None:
        pytest.skip("Java is not installed here")
    publish("spark")
    python = bridge("spark", "spark")
    given = {"PYSPARK_PYTHON": str(python), "SPARK_LOCAL_IP": "127.0.0.1"}
    printed = run(python, "-c", PROGRAM, tmp_path, **given)
    assert "rows 500 partitions 4" in printed
    assert downloads(hub, "spark") == 1
