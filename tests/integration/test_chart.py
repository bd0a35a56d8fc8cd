"""docker/chart, rendered by Helm and compared with the schemas of Kubernetes and with the product.

HUB_TEST_HELM is a Python that has Helm's engine and those schemas: `helm-python-sdk` and
`kubernetes-validate`, both from PyPI.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from itertools import chain
from pathlib import Path

import pytest
from django.conf import settings

HELM = os.environ.get("HUB_TEST_HELM", "")
pytestmark = pytest.mark.skipif(not HELM, reason="HUB_TEST_HELM names no Python with Helm")
ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "docker/chart"
# Reads values as JSON; prints every document, or Helm's own error.
RENDER = """
import json, sys, helm_python, kubernetes_validate, yaml
with helm_python.Chart.load(sys.argv[1]) as chart:
    try:
        values = json.load(sys.stdin)
        chart.validate_schema(values)
        files = chart.render(values, name="hub", namespace="models")
    except helm_python.HelmError as error:
        sys.exit(str(error))
texts = [text for name, text in files.items() if name.endswith(".yaml")]
documents = [each for text in texts for each in yaml.safe_load_all(text) if each]
for document in documents:
    # The oldest release that Chart.yaml allows.
    kubernetes_validate.validate(document, "1.29", strict=True)
print(json.dumps(documents))
"""
LEAST = {"domain": "hub.example.org", "existingSecret": "keys", "storage": {"url": "s3://m/p"}}
OWN = {"HUB_SECRET_KEY": "x7" * 40, "DATABASE_URL": "postgres://h@db/h", "REDIS_URL": "redis://r"}
FILES = {"domain": "hub.example.org", "secrets": OWN, "storage": {"claim": "models"}}
PLACE = {
    "podAnnotations": {"example.org/team": "models"},
    "nodeSelector": {"for": "hub"},
    "affinity": {"podAntiAffinity": {}},
    "tolerations": [{"key": "hub", "operator": "Exists"}],
}
ALL = LEAST | {
    "web": {"autoscaling": {"enabled": True}, **PLACE},
    "workers": {"autoscaling": {"enabled": True}, **PLACE},
    "beat": PLACE,
    "setup": PLACE,
    "benchmarks": {"enabled": True, **PLACE},
    "gpuWorkers": [{"name": "a100", "resources": {"limits": {"memory": "64Gi"}}, **PLACE}],
    "podAnnotations": {"example.org/team": "nobody", "example.org/cost": "7"},
    "extraEnv": [
        {"name": "HUB_GRID_REGION", "value": "FRA"},
        {"name": "HUB_METRICS_TOKEN", "valueFrom": {"secretKeyRef": {"name": "m", "key": "k"}}},
    ],
    "extraVolumes": [{"name": "certificates", "configMap": {"name": "own-ca"}}],
    "extraVolumeMounts": [{"name": "certificates", "mountPath": "/etc/own-ca", "readOnly": True}],
    "serviceAccount": {"create": True, "annotations": {"example.org/role": "models"}},
    "ingress": {"tlsSecret": "certificate"},
}
EXTERNAL = LEAST | {"sparqlUrl": "http://sparql:7878/query"}
EVERY = pytest.mark.parametrize("values", [LEAST, FILES, ALL, EXTERNAL])


def run(values):
    return subprocess.run(
        [HELM, "-c", RENDER, str(CHART)],
        input=json.dumps(values), check=False, capture_output=True, text=True,
    )  # fmt: skip


def render(values):
    """The documents by kind and name, each valid for Kubernetes."""
    return _render(json.dumps(values))


@cache
def _render(values):
    done = run(json.loads(values))
    assert done.returncode == 0, done.stderr
    return {(each["kind"], each["metadata"]["name"]): each for each in json.loads(done.stdout)}


def pods(documents):
    """The labels and the pod of each workload."""
    for (kind, name), each in documents.items():
        if kind in {"Deployment", "DaemonSet", "Job"}:
            template = each["spec"]["template"]
            yield name, template["metadata"]["labels"], template["spec"]


def annotations(documents):
    """The annotations of each workload's pods, by its kind and name."""
    return {
        key: each["spec"]["template"]["metadata"].get("annotations", {})
        for key, each in documents.items()
        if key[0] in {"Deployment", "DaemonSet", "Job"}
    }


def containers(documents):
    for _, _, pod in pods(documents):
        yield from chain(pod.get("initContainers", ()), pod["containers"])


@EVERY
def test_every_container_is_confined_and_has_a_role(values):
    roles = re.findall(
        r"^    ([a-z-]+)\)$", (ROOT / "docker/entrypoint.sh").read_text(), re.MULTILINE
    )
    documents = render(values)
    for container in containers(documents):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["args"][0] in {*roles, "hub"}
        for probe in ("startupProbe", "livenessProbe"):
            command = container.get(probe, {}).get("exec", {}).get("command", ["entrypoint", "web"])
            assert command[1] in roles
    for _, _, pod in pods(documents):
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        folders = {volume["name"] for volume in pod["volumes"]}
        for container in chain(pod.get("initContainers", ()), pod["containers"]):
            assert {mount["name"] for mount in container["volumeMounts"]} <= folders


@EVERY
def test_every_variable_is_a_setting(values):
    documents = render(values)
    source = (ROOT / "docker/entrypoint.sh").read_text()
    source += "".join(path.read_text() for path in (ROOT / "hub/server/settings").glob("*.py"))
    names = set(documents["ConfigMap", "hub"]["data"])
    names |= {each["name"] for one in containers(documents) for each in one.get("env", ())}
    assert all(name in source for name in names if not name.startswith("AWS_")), names


@EVERY
def test_every_selector_chooses_one_workload(values):
    documents = render(values)
    labels = {name: labels for name, labels, _ in pods(documents)}
    for (kind, name), each in documents.items():
        spec = each.get("spec", {})
        selector = {"Service": spec.get("selector"), "NetworkPolicy": None, "Job": None}.get(
            kind, spec.get("selector", {}).get("matchLabels")
        )
        if selector:
            matches = [one for one, own in labels.items() if selector.items() <= own.items()]
            assert matches == [name], (kind, name)
        if kind == "HorizontalPodAutoscaler":
            target = spec["scaleTargetRef"]
            assert "replicas" not in documents[target["kind"], target["name"]]["spec"]


def test_what_is_asked_for_is_there():
    least, everything = render(LEAST), render(ALL)
    assert set(everything) - set(least) >= {("ServiceAccount", "hub")}
    assert {name for _, name in everything} - {name for _, name in least} == {
        "hub-worker-bench",
        "hub-worker-gpu-a100",
    }
    gpu = everything["Deployment", "hub-worker-gpu-a100"]["spec"]["template"]["spec"]
    assert gpu["containers"][0]["args"] == ["hub", "worker", "--pool", "gpu-a100"]
    assert gpu["containers"][0]["resources"]["limits"] == {"memory": "64Gi", "nvidia.com/gpu": 1}

    def in_web(documents):
        pod = documents["Deployment", "hub-web"]["spec"]["template"]["spec"]
        return [each["name"] for each in pod["containers"]]

    assert in_web(least) == ["web", "graphs"]
    assert in_web(render(EXTERNAL)) == ["web"]
    assert ("Secret", "hub") not in least
    assert render(FILES)["Secret", "hub"]["stringData"] == OWN


@pytest.mark.parametrize(
    ("values", "change"),
    [
        (LEAST, {"settings": {"HUB_BENCH": "off"}}),
        (LEAST, {"domain": "models.example.org"}),
        (LEAST, {"existingSecretVersion": "2"}),
        (LEAST, {"existingSecret": "other-keys", "existingSecretVersion": "2"}),
        (FILES, {"secrets": OWN | {"REDIS_URL": "redis://other"}}),
    ],
)
def test_changed_settings_and_secrets_start_all_pods_anew(values, change):
    before, after = annotations(render(values)), annotations(render(values | change))
    assert {name for _, name in before} == {
        "hub-web", "hub-worker-cpu", "hub-beat", "hub-setup-1",
    }  # fmt: skip
    assert [key for key in before if before[key] == after[key]] == []


def test_unchanged_values_start_no_pod_anew():
    assert annotations(render(LEAST)) == annotations(render(LEAST | {"workers": {"replicas": 7}}))
    assert not any("checksum/secret" in each for each in annotations(render(FILES)).values())


def test_each_role_has_its_place_and_annotations():
    documents = render(ALL)
    for key, own in annotations(documents).items():
        pod = documents[key]["spec"]["template"]["spec"]
        assert {name: pod[name] for name in PLACE if name != "podAnnotations"} == {
            name: value for name, value in PLACE.items() if name != "podAnnotations"
        }, key
        # What a role says goes before what all say.
        assert (own["example.org/team"], own["example.org/cost"]) == ("models", "7"), key
    least = render(LEAST)
    for _, _, pod in pods(least):
        assert not {"nodeSelector", "affinity", "tolerations"} & pod.keys()


def test_variables_and_volumes_reach_every_container():
    documents = render(ALL)
    for container in containers(documents):
        names = [each["name"] for each in container["env"]]
        assert names[-2:] == ["HUB_GRID_REGION", "HUB_METRICS_TOKEN"]
        assert len(names) == len(set(names))
        assert container["env"][-1]["valueFrom"]["secretKeyRef"] == {"name": "m", "key": "k"}
        assert ALL["extraVolumeMounts"][0] in container["volumeMounts"]
    for _, _, pod in pods(documents):
        assert ALL["extraVolumes"][0] in pod["volumes"]


def test_pods_have_a_service_account():
    made, least = render(ALL), render(LEAST)
    account = made["ServiceAccount", "hub"]
    assert account["metadata"]["annotations"] == {"example.org/role": "models"}
    assert account["automountServiceAccountToken"] is False
    named = render(LEAST | {"serviceAccount": {"name": "bucket-reader"}})
    for documents, name in ((made, "hub"), (least, "default"), (named, "bucket-reader")):
        assert {pod["serviceAccountName"] for _, _, pod in pods(documents)} == {name}


def test_the_setup_job_has_resources_and_an_end():
    job = render(LEAST)["Job", "hub-setup-1"]["spec"]
    assert job["ttlSecondsAfterFinished"] == 604800
    assert job["template"]["spec"]["containers"][0]["resources"]["limits"] == {"memory": "1Gi"}
    kept = render(LEAST | {"setup": {"ttlSeconds": 0}})["Job", "hub-setup-1"]["spec"]
    assert "ttlSecondsAfterFinished" not in kept


def test_a_drain_of_nodes_takes_few_workers_at_once():
    assert render(LEAST)["PodDisruptionBudget", "hub-worker-cpu"]["spec"]["maxUnavailable"] == 1
    wide = render(LEAST | {"workers": {"maxUnavailable": 3}})
    assert wide["PodDisruptionBudget", "hub-worker-cpu"]["spec"]["maxUnavailable"] == 3


@pytest.mark.parametrize(("job", "seconds"), [(None, 3660), ("600", 3660), ("2000", 8060)])
def test_a_worker_has_the_time_that_a_job_may_take_to_end(job, seconds):
    """As CELERY_TASK_TIME_LIMIT of the settings computes it."""
    own = {"HUB_LIMITS_JOB_SECONDS": job} if job else {}
    documents = render(LEAST | {"settings": own})
    pod = documents["Deployment", "hub-worker-cpu"]["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] == seconds
    assert max(3600, 4 * int(job or settings.HUB_LIMITS_JOB_SECONDS)) + 60 == seconds


@pytest.mark.parametrize("values", [LEAST, FILES])
def test_its_environment_passes_the_check_for_production(values, tmp_path):
    given = render(values)["ConfigMap", "hub"]["data"] | OWN
    own = {"HUB_HOME": str(tmp_path), "DJANGO_SETTINGS_MODULE": "hub.server.settings"}
    path = {"PATH": f"{Path(sys.executable).parent}:{os.defpath}"}
    done = subprocess.run(
        ["sh", ROOT / "docker/entrypoint.sh", "python", "-m", "django", "check", "--deploy"],
        cwd=ROOT, env=given | own | path, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.findall(r"hub\.[EW]\d+", done.stdout + done.stderr) == ["hub.W003"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"domain": ""}, "/domain"),
        ({"domain": "https://hub.example.org"}, "/domain"),
        ({"existingSecret": ""}, "Set existingSecret, or secrets.HUB_SECRET_KEY."),
        ({"storage": {}}, "Set storage.url (a bucket) or storage.claim"),
        ({"storage": {"url": "s3://m", "claim": "c"}}, "not both"),
        ({"web": {"replica": 3}}, "replica"),
        ({"gpuWorkers": [{"name": "A 100"}]}, "/gpuWorkers/0/name"),
        ({"extraEnv": [{"value": "x"}]}, "/extraEnv/0"),
        ({"beat": {"podAnnotations": {"a": 1}}}, "/beat/podAnnotations/a"),
        ({"serviceAccount": {"named": "x"}}, "named"),
    ],
)
def test_wrong_values_are_named(change, words):
    done = run(LEAST | change)
    assert done.returncode == 1
    assert words in done.stderr
