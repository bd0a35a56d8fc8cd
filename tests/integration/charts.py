"""docker/chart, rendered by Helm and validated with the schemas of Kubernetes.

HUB_TEST_HELM is a Python that has Helm's engine and those schemas: `helm-python-sdk` and
`kubernetes-validate`, both from PyPI.
"""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path

import pytest

HELM = os.environ.get("HUB_TEST_HELM", "")
needs_helm = pytest.mark.skipif(not HELM, reason="HUB_TEST_HELM names no Python with Helm")
ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "docker/chart"
# Reads values as JSON; prints every document, or Helm's own error. With the address of a cluster,
# Helm looks up what that has.
RENDER = """
import json, sys, helm_python, kubernetes_validate, yaml
with helm_python.Chart.load(sys.argv[1]) as chart:
    try:
        values = json.load(sys.stdin)
        chart.validate_schema(values)
        release = {"name": "hub", "namespace": "models"}
        if len(sys.argv) > 2:
            with helm_python.Config(kube_apiserver=sys.argv[2], storage_driver="memory") as cluster:
                files = cluster.render(chart, values, **release)
        else:
            files = chart.render(values, **release)
    except helm_python.HelmError as error:
        sys.exit(str(error))
texts = [text for name, text in files.items() if name.endswith(".yaml")]
documents = [each for text in texts for each in yaml.safe_load_all(text) if each]
for document in documents:
    # The oldest release that Chart.yaml allows.
    kubernetes_validate.validate(document, "1.29", strict=True)
print(json.dumps(documents))
"""


def run(values, *cluster):
    return subprocess.run(
        [HELM, "-c", RENDER, str(CHART), *cluster],
        input=json.dumps(values), check=False, capture_output=True, text=True,
        env=os.environ | {"KUBECONFIG": os.devnull},
    )  # fmt: skip


def render(values):
    """The documents by kind and name, each valid for Kubernetes."""
    return _render(json.dumps(values))


@cache
def _render(values):
    return by_name(run(json.loads(values)))


def by_name(done):
    assert done.returncode == 0, done.stderr
    return {(each["kind"], each["metadata"]["name"]): each for each in json.loads(done.stdout)}


def templates(documents):
    """The template of each workload's pods, by its kind and name."""
    for key, each in documents.items():
        if key[0] == "CronJob":
            yield key, each["spec"]["jobTemplate"]["spec"]["template"]
        elif key[0] in {"Deployment", "DaemonSet", "Job"}:
            yield key, each["spec"]["template"]
