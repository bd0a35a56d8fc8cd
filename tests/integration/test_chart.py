"""What Helm makes of docker/chart, compared with the product."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain
from pathlib import Path
from typing import ClassVar

import pytest
from django.conf import settings

from tests.integration import charts
from tests.integration.charts import ROOT, by_name, render, run, templates

pytestmark = charts.needs_helm
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
    "backups": {"url": "s3://backups/hub", **PLACE},
    "ingress": {"tlsSecret": "certificate"},
}
EXTERNAL = LEAST | {"sparqlUrl": "http://sparql:7878/query"}
EVERY = pytest.mark.parametrize("values", [LEAST, FILES, ALL, EXTERNAL])


def pods(documents):
    """The labels and the pod of each workload."""
    for (_, name), template in templates(documents):
        yield name, template["metadata"]["labels"], template["spec"]


def annotations(documents):
    """The annotations of each workload's pods, by its kind and name."""
    return {
        key: template["metadata"].get("annotations", {}) for key, template in templates(documents)
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
        "hub-backup",
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


class Cluster(BaseHTTPRequestHandler):
    """As much of a cluster as Helm asks for: which resources there are, and one Secret."""

    secret: ClassVar = {"REDIS_URL": "cmVkaXM6Ly9y"}
    documents: ClassVar = {
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
        "/api/v1": {
            "kind": "APIResourceList",
            "groupVersion": "v1",
            "resources": [
                {"name": "secrets", "namespaced": True, "kind": "Secret", "verbs": ["get"]}
            ],
        },
    }

    def do_GET(self):
        document = self.documents.get(self.path.partition("?")[0])
        if self.path == "/api/v1/namespaces/models/secrets/keys":
            metadata = {"name": "keys", "namespace": "models"}
            document = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
            document["data"] = self.secret
        status = {"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}
        self.send_response(200 if document else 404)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(document or status | {"apiVersion": "v1"}).encode())

    def log_message(self, *_words):
        """Nothing: the output is the tests' own."""


@pytest.fixture
def cluster(monkeypatch):
    """The address of a cluster, and a function that changes its Secret."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Cluster) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield (
            f"http://127.0.0.1:{server.server_port}",
            lambda content: monkeypatch.setattr(Cluster, "secret", content),
        )
        server.shutdown()


def test_helm_looks_up_the_keys_of_an_existing_secret(cluster):
    address, change = cluster
    before, same = (annotations(by_name(run(LEAST, address))) for _ in range(2))
    assert before == same
    assert [key for key, own in before.items() if own == annotations(render(LEAST))[key]] == []
    change({"REDIS_URL": "cmVkaXM6Ly9vdGhlcg=="})
    after = annotations(by_name(run(LEAST, address)))
    assert [key for key in before if before[key] == after[key]] == []
    # One that is not there yet is no error: it may be made after the chart is installed.
    missing = annotations(by_name(run(LEAST | {"existingSecret": "later"}, address)))
    assert missing == annotations(render(LEAST))


def test_each_role_has_its_place_and_annotations():
    documents = render(ALL)
    pods_of = {key: template["spec"] for key, template in templates(documents)}
    for key, own in annotations(documents).items():
        pod = pods_of[key]
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
        ({"backups": {"url": "s3://b", "claim": "c"}}, "backups.url and backups.claim, not both"),
        ({"backups": {"claim": "c", "schedule": "daily"}}, "/backups/schedule"),
        ({"backups": {"claim": "c", "keep": 0}}, "/backups/keep"),
    ],
)
def test_wrong_values_are_named(change, words):
    done = run(LEAST | change)
    assert done.returncode == 1
    assert words in done.stderr
