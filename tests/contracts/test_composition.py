"""docker/ agrees with itself and with the product, as far as that shows without an engine."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pytest
import yaml
from django.conf import settings
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from hub.protocol.runtime_builds import CPU, GPU
from hub.server.schedule import SCHEDULE
from runners.pools import POOL, queues_of

ROOT = Path(__file__).resolve().parents[2]
DOCKER = ROOT / "docker"
DOCKERFILE = (DOCKER / "Dockerfile").read_text(encoding="utf-8")
ENTRYPOINT = (DOCKER / "entrypoint.sh").read_text(encoding="utf-8")
SERVICES = yaml.safe_load((DOCKER / "compose.yaml").read_text(encoding="utf-8"))["services"]
OURS = {"setup", "web", "graphs", "worker-cpu", "beat"}
ROLES = set(re.findall(r"^    ([a-z-]+)\)$", ENTRYPOINT, re.MULTILINE))
TARGETS = dict(re.findall(r"^FROM (\S+) AS (\S+)$", DOCKERFILE, re.MULTILINE))


def stages() -> dict[str, str]:
    """The text of each stage by its name."""
    parts = re.split(r"^FROM \S+ AS (\S+)$", DOCKERFILE, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_services_are_these():
    assert set(SERVICES) == OURS | {"postgres", "redis", "caddy"}


@pytest.mark.parametrize("name", sorted(OURS))
def test_our_services_are_built_confined_and_told_what_they_need(name):
    service = SERVICES[name]
    assert service["build"]["target"] in stages()
    assert (DOCKER / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
    assert service["command"][0] in ROLES
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "blobs:/srv/blobs" in service["volumes"]
    settings = (ROOT / "hub/server/settings").glob("*.py")
    source = "".join(path.read_text(encoding="utf-8") for path in settings)
    for variable in service["environment"]:
        assert f'"{variable}"' in source, variable


def test_a_worker_has_the_time_that_a_job_may_take_to_end():
    """By default; the chart computes it, and the page for operators names it."""
    longest = settings.CELERY_TASK_TIME_LIMIT
    assert SERVICES["worker-cpu"]["stop_grace_period"] == f"{longest}s"
    page = (ROOT / "docs/operate.md").read_text(encoding="utf-8")
    assert f"TimeoutStopSec={longest}" in page


def test_whatever_stays_up_is_watched():
    for name, service in SERVICES.items():
        assert name == "setup" or service["healthcheck"]["test"][0] in {"CMD", "CMD-SHELL"}
    watched = ("worker-cpu", "beat", "graphs")
    assert {SERVICES[name]["healthcheck"]["test"][2] for name in watched} <= ROLES


def test_everything_waited_for_exists():
    for service in SERVICES.values():
        for other, wanted in service.get("depends_on", {}).items():
            assert other in SERVICES
            done = wanted["condition"] == "service_completed_successfully"
            assert done == (other == "setup")


def test_the_worker_listens_to_every_queue_that_is_used():
    listened = re.search(r"-Q (\S+)", ENTRYPOINT)
    assert listened
    assert listened[1].split(",") == queues_of(["cpu", "light"])
    assert {entry["options"]["queue"] for entry in SCHEDULE.values()} <= {"cpu", "light"}


BUILDS = {"web": None, "web-sign-in": None, "worker-cpu": CPU, "worker-gpu": GPU}


@pytest.mark.parametrize("extra", BUILDS)
def test_locks_hold_every_package_in_the_version_that_is_tested(extra):
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    tested = {canonicalize_name(line.split("==")[0]): line.split("==")[1] for line in lines}
    text = (DOCKER / f"{extra}.lock").read_text(encoding="utf-8")
    packages = re.split(r"^(?=[a-z])", text, flags=re.MULTILINE)[1:]
    locked = {}
    for package in packages:
        name, version = re.match(r"([a-z0-9.-]+)==([^ ;\\]+)", package).groups()
        locked[name] = version
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", package), name
    # A package for other Pythons or systems alone is not in the tested environment.
    conditional = {re.match(r"[a-z0-9.-]+", each)[0] for each in packages if " ; " in each}
    build = BUILDS[extra]
    runtime = build and build.package
    assert build is None or locked[runtime] == build.version
    # What only a GPU needs is tested nowhere here.
    for name, version in locked.items():
        if name not in conditional and not name.startswith("nvidia-") and name != GPU.package:
            assert version == tested[name], name
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = needed["optional-dependencies"]
    wanted = [*needed["dependencies"], *extras["web"], *extras["s3"]]
    wanted += extras[extra.removeprefix("worker-")] if runtime else []
    wanted += [*extras["ldap"], *extras["saml"]] if extra == "web-sign-in" else []
    assert {canonicalize_name(Requirement(each).name) for each in wanted} <= locked.keys()
    # Both packages hold the module `onnxruntime`: side by side, one overwrites the other.
    assert {"onnxruntime", "onnxruntime-gpu"} & locked.keys() == {runtime} - {None}
    assert any(name.startswith("nvidia-cudnn") for name in locked) == (extra == "worker-gpu")


def test_no_extra_asks_for_both_runtimes():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]

    def packages(name):
        found = set()
        for each in map(Requirement, extras[name]):
            own = each.name == "onnx-hub"
            found |= set().union(*map(packages, each.extras)) if own else {each.name}
        return found

    assert "onnxruntime-gpu" in packages("gpu")
    for name in extras:
        assert not {"onnxruntime", "onnxruntime-gpu"} <= packages(name), name


def test_the_gpu_image_starts_a_worker_of_one_gpu_pool():
    command = json.loads(re.search(r"^CMD (.+)$", stages()["worker-gpu"], re.MULTILINE)[1])
    assert command[:3] == ["hub", "worker", "--pool"]
    assert re.fullmatch(POOL, command[3])
    assert command[3].startswith("gpu-")


def test_images_run_as_nobody_without_tools_in_the_right_locale():
    base = stages()["base"]
    assert re.search(r"^USER 10001:10001$", base, re.MULTILINE)
    assert "LC_ALL=en_US.UTF-8" in base
    assert "ORT_DISABLE_TELEMETRY=1" in base
    assert "pip uninstall" in base
    for name in BUILDS:
        assert set(re.findall(r"^COPY --from=(\S+)", stages()[name], re.MULTILINE)) == {
            f"install-{name}"
        }
        assert "RUN" not in stages()[name]


def test_the_build_gets_what_the_dockerfile_copies():
    lines = (DOCKER / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "*"
    copies = re.findall(r"^COPY (?!--from)(?:--\S+ )*(.+) \S+$", DOCKERFILE, re.MULTILINE)
    sources = {source for copy in copies for source in copy.split()}
    assert sources <= {line.removeprefix("!") for line in lines if line.startswith("!")}
    for source in sources:
        assert list(ROOT.glob(source)), source


def test_images_have_the_number_of_the_release_that_the_chart_asks_for(tmp_path):
    program = tmp_path / "buildah"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {tmp_path}/words\n')
    program.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "BASE": "base", "POSTGRESQL": "17"}
    subprocess.run([ROOT / "scripts/images", "web"], check=True, env=environment)
    words = (tmp_path / "words").read_text(encoding="utf-8").splitlines()
    number = yaml.safe_load((DOCKER / "chart/Chart.yaml").read_text(encoding="utf-8"))["appVersion"]
    options = list(itertools.pairwise(words))
    for option in (
        ("--tag", f"onnx-hub-web:{number}"),
        ("--tag", "onnx-hub-web"),
        ("--label", f"org.opencontainers.image.version={number}"),
        ("--build-arg", "POSTGRESQL=17"),
        ("--build-arg", "BASE=base"),
    ):
        assert option in options
    for name in OURS:
        target = SERVICES[name]["build"]["target"]
        assert SERVICES[name]["image"] == f"onnx-hub-{target}:${{RELEASE:-latest}}"


def test_the_images_back_up_the_database_of_the_composition():
    versions = re.search(r'^ARG POSTGRESQL="([0-9 ]+)"$', DOCKERFILE, re.MULTILINE)[1].split()
    server = re.match(r"postgres:(\d+)-", SERVICES["postgres"]["image"])[1]
    assert server in versions
    page = (ROOT / "docs/operate.md").read_text(encoding="utf-8")
    oldest = re.search(r"You need version (\d+) or newer", page)[1]
    assert versions[0] == oldest


def test_the_proxy_goes_to_the_web_service():
    caddy = (DOCKER / "Caddyfile").read_text(encoding="utf-8")
    assert "reverse_proxy {$HUB_WEB:web:8000}" in caddy
    assert '"0.0.0.0:${PORT:-8000}"' in ENTRYPOINT


def test_the_values_of_the_chart_are_valid():
    values = yaml.safe_load((DOCKER / "chart/values.yaml").read_text(encoding="utf-8"))
    schema = json.loads((DOCKER / "chart/values.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(values | {"domain": "hub.example.org"}, schema)
    assert values.keys() <= schema["properties"].keys()


ENTERED = {
    "HUB_DOMAIN": "hub.example.org",
    "HUB_SECRET_KEY": "x7" * 40,
    "POSTGRES_PASSWORD": "letters4nd0digits",
}


def environment(home, **changes):
    """What the Compose file gives the hub's services, once `example.env` is filled in."""
    variable = re.compile(r"\$\{(\w+)(?::-([^}]*)|:\?[^}]*)?\}")
    given = {
        name: variable.sub(lambda match: ENTERED.get(match[1]) or match[2], value)
        for name, value in SERVICES["setup"]["environment"].items()
    }
    image = {
        "DJANGO_SETTINGS_MODULE": "hub.server.settings",
        "HUB_HOME": str(home),
        "HUB_STORAGE_URL": (home / "blobs").as_uri(),
    }
    path = f"{Path(sys.executable).parent}:{os.defpath}"
    return {"PATH": path} | given | image | {"HUB_GRAPHS": str(home / "graphs")} | changes


def test_the_check_that_its_documentation_names_passes(tmp_path):
    command = "python -m django check --deploy"
    assert f"exec web {command}\n" in (DOCKER / "README.md").read_text(encoding="utf-8")
    done = subprocess.run(
        ["sh", DOCKER / "entrypoint.sh", *command.split()],
        cwd=ROOT, env=environment(tmp_path), check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.findall(r"hub\.[EW]\d+", done.stdout + done.stderr) == ["hub.W003"]


@pytest.mark.live
def test_its_setup_makes_the_tables_and_one_administrator(tmp_path):
    # No PostgreSQL is at the address that the Compose file names.
    database = {"DATABASE_URL": f"sqlite:///{tmp_path}/hub.sqlite3"}
    shown = [
        subprocess.run(
            ["sh", DOCKER / "entrypoint.sh", "setup"],
            cwd=ROOT, env=environment(tmp_path, **database), check=True, capture_output=True,
            text=True,
        ).stdout
        for _ in range(2)
    ]  # fmt: skip
    assert re.search(r"^admin user: admin\nadmin password: \S{12,}\n", shown[0], re.MULTILINE)
    assert "admin password" not in shown[1]
