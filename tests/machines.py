"""A hub of several machines: homes of their own that share PostgreSQL, Redis and a bucket alone.

Each web machine runs `hub serve --no-worker`, each worker machine `hub worker --beat`, and Caddy
balances between the web machines, as docs/operate.md describes.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress

from tests.faults.conftest import ROOT, admin_token, own_environment, processes, wait_for
from tests.faults.proxies import free_port

START_SECONDS = 240

# Requests that a machine refused are sent to another; those that it began, only if they are reads.
BALANCER = """
{{
	admin off
	auto_https off
}}
http://127.0.0.1:{port} {{
	reverse_proxy {upstreams} {{
		lb_policy least_conn
		lb_try_duration 10s
		fail_duration 5s
		health_uri /healthz
		health_interval 1s
		flush_interval -1
	}}
}}
"""
# Prints what is wrong with the rows of a hub at rest, one line for each fault.
FAULTS = """
from django.db.models import Count, Q
from metadata.store import maintenance
from runners.models import Job
for line in maintenance.differences():
    print("graph:", line)
succeeded = Count("attempts", filter=Q(attempts__outcome="succeeded"))
for job in Job.objects.annotate(done=succeeded).filter(done__gt=1):
    print("job done twice:", job.pk, job.kind, job.done)
for job in Job.objects.filter(state__in=["queued", "running"]):
    print("job lost:", job.pk, job.kind, job.state)
for job in Job.objects.filter(state="succeeded").annotate(done=succeeded).filter(done=0):
    if job.attempts.exists():
        print("job without its attempt:", job.pk, job.kind)
"""
COUNTS = """
import collections, json
from metadata.models import NamedGraph, Revision
from registry.models import Delivery
from runners.models import Attempt, Job
print(json.dumps({
    "pending": Job.objects.filter(state__in=["queued", "running"]).count(),
    "deliveries": Delivery.objects.count(),
    "quads": sum(t.count(chr(10)) for t in NamedGraph.objects.values_list("nquads", flat=True)),
    "jobs": collections.Counter(Job.objects.values_list("state", flat=True)),
    "attempts": collections.Counter(Attempt.objects.values_list("outcome", flat=True)),
}))
"""


class Machine:
    """One home folder and the command that runs there; killed and started like a machine."""

    def __init__(self, home, command, environment):
        self.home = home
        home.mkdir(parents=True)
        self.log = home.with_suffix(".log")
        self._command = [sys.executable, "-m", "hub", *command, "--home", str(home)]
        self._environment = environment
        self.process = None

    def start(self):
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command, cwd=ROOT, env=self._environment, stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip

    def kill(self):
        """`kill -9` every process, as a loss of power does."""
        children = {}
        for pid, parent, _ in processes():
            children.setdefault(parent, []).append(pid)
        waiting, pids = [self.process.pid], []
        while waiting:
            pids.append(waiting.pop())
            waiting += children.get(pids[-1], [])
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()


class Machines:
    """The whole hub; `address` is that of the balancer."""

    def __init__(self, folder, *, web=3, workers=3, **environment):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        ports = [free_port() for _ in range(web)]
        port = free_port()
        self.address = f"http://127.0.0.1:{port}"
        self.addresses = [f"http://127.0.0.1:{one}" for one in ports]
        self.environment = (
            own_environment()
            | {
                "HUB_PUBLIC_URL": self.address,
                "HUB_SECRET_KEY": "the same on every machine of these tests",
                "HUB_LIMITS_LEASE_SECONDS": "10",
                "HUB_LIMITS_USER_RATE": "1000000/min",
                "HUB_LIMITS_ANON_RATE": "1000000/min",
                "HUB_BENCH": "off",
            }
            | environment
        )
        self.web = [
            Machine(
                folder / f"web-{number}",
                ["serve", "--no-worker", "--no-samples", "--port", str(one)],
                self.environment,
            )
            for number, one in enumerate(ports)
        ]
        self.workers = [
            Machine(folder / f"worker-{number}", ["worker", "--beat"], self.environment)
            for number in range(workers)
        ]
        self._configuration = folder / "Caddyfile"
        upstreams = " ".join(address.removeprefix("http://") for address in self.addresses)
        self._configuration.write_text(BALANCER.format(port=port, upstreams=upstreams))
        self._balancer = None

    def start(self):
        """Start all at once, on an empty database, and wait until the hub answers."""
        for machine in [*self.web, *self.workers]:
            machine.start()
        with (self.folder / "caddy.log").open("ab") as log:
            self._balancer = subprocess.Popen(
                [shutil.which("caddy"), "run", "--config", self._configuration,
                 "--adapter", "caddyfile"],
                env=self.environment | {"XDG_DATA_HOME": str(self.folder),
                                        "XDG_CONFIG_HOME": str(self.folder)},
                stdout=log, stderr=log,
            )  # fmt: skip
        for address in self.addresses:
            wait_for(lambda a=address: answers(a), f"{address} to answer", START_SECONDS)
        wait_for(lambda: answers(self.address), "the balancer to answer", START_SECONDS)
        self.token = admin_token(self.web[0].home, self.environment)
        return self

    def stop(self):
        for machine in [*self.web, *self.workers]:
            if machine.process is not None:
                machine.process.terminate()
        for machine in [*self.web, *self.workers]:
            machine.stop()
        if self._balancer is not None:
            self._balancer.kill()
            self._balancer.wait()

    def run_inside(self, script):
        """Run Python with the settings of the first web machine."""
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", f"import django; django.setup()\n{script}"],
            cwd=ROOT, check=True, capture_output=True, text=True,
            env=self.environment | {"DJANGO_SETTINGS_MODULE": "hub.server.settings",
                                    "HUB_HOME": str(self.web[0].home)},
        )  # fmt: skip
        return done.stdout.strip()

    def counts(self):
        return json.loads(self.run_inside(COUNTS).splitlines()[-1])

    def settle(self, seconds=600):
        """Wait until no job and no delivery waits; returns the counts."""
        until = time.monotonic() + seconds
        while (counts := self.counts())["pending"] or counts["deliveries"]:
            if time.monotonic() > until:
                break
            time.sleep(2)
        return counts

    def faults(self):
        """What is wrong with a hub at rest: lost or repeated jobs, graphs, files, replicas."""
        counts = self.settle()
        faults = self.run_inside(FAULTS).splitlines()
        faults += [f"delivery lost: {counts['deliveries']}"] if counts["deliveries"] else []
        for address in self.addresses:
            with suppress(TimeoutError, AssertionError):
                wait_for(lambda a=address: quads(a) == counts["quads"], "the replica", 60)
            if (stored := quads(address)) != counts["quads"]:
                faults.append(f"{address} answers from {stored} of {counts['quads']} statements")
        compared = sum(log_of(one).count("task=comparison") for one in self.web)
        faults += [f"graphs compared {compared} times"] if compared > 1 else []
        verified = self.run_inside(
            "from registry.storage import verification\n"
            "for sha256, problem in verification.verify():\n    print(sha256, problem)"
        )
        return faults + [
            f"file: {line}" for line in verified.splitlines() if "(an orphan)" not in line
        ]


def log_of(machine):
    return machine.log.read_text(errors="replace")


def answers(address):
    """Whether a web machine or the balancer answers."""
    try:
        with urllib.request.urlopen(f"{address}/healthz", timeout=5) as answer:  # noqa: S310
            return answer.status == 200
    except OSError:
        return False


def quads(address):
    """How many statements a web machine's own replica has; None where it does not answer."""
    request = urllib.request.Request(  # noqa: S310 - the hub under test
        f"{address}/sparql",
        b"SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } }",
        {"Content-Type": "application/sparql-query", "Accept": "application/sparql-results+json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            return int(json.load(answer)["results"]["bindings"][0]["n"]["value"])
    except urllib.error.URLError:
        return None
