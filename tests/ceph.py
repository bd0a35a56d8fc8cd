"""A Ceph cluster of one machine with its S3 gateway, for tests: a real server, in a folder.

Debian's packages: ceph-mon, ceph-mgr, ceph-osd, radosgw, ceph-common. Ports are free ones of the
loopback address.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
import uuid
from contextlib import suppress

PROGRAMS = (
    "ceph-mon",
    "ceph-mgr",
    "ceph-osd",
    "radosgw",
    "radosgw-admin",
    "ceph-authtool",
    "openssl",
)
KEY, SECRET = "hub-test-key", "hub-test-secret"
BUCKET = "models"
START_SECONDS = 120

# One daemon of each kind, one copy of each object, and no warnings about that. One monitor alone
# has nobody to wait for: with the default of a second for each change, starting takes half as long
# again.
CONFIGURATION = r"""
[global]
fsid = {fsid}
mon_host = [v2:127.0.0.1:{monitor}/0]
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
ms_bind_ipv6 = false
keyring = {folder}/keyring
mon_data = {folder}/mon
mgr_data = {folder}/mgr
osd_data = {folder}/osd
rgw_data = {folder}/rgw
run_dir = {folder}
admin_socket =
pid_file =
log_file = {folder}/$name.log
mon_cluster_log_file = {folder}/cluster.log
mon_allow_pool_size_one = true
mon_data_avail_crit = 1
auth_allow_insecure_global_id_reclaim = false
paxos_propose_interval = .02
paxos_min_wait = .01
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 1
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
osd_memory_target = 939524096
bluestore_block_size = {disk_bytes}
mon_osd_full_ratio = .99
mon_osd_nearfull_ratio = .98
mon_osd_backfillfull_ratio = .98
[client.gateway]
rgw_frontends = beast endpoint=127.0.0.1:{gateway} ssl_endpoint=127.0.0.1:{tls} \
    ssl_certificate={folder}/certificate.pem ssl_private_key={folder}/key.pem
"""
RIGHTS = {
    "mon.": ("mon", "allow *"),
    "client.admin": ("mon", "allow *", "osd", "allow *", "mgr", "allow *"),
    "mgr.one": ("mon", "allow profile mgr", "osd", "allow *"),
    "osd.0": ("mon", "allow profile osd", "osd", "allow *", "mgr", "allow profile osd"),
    "client.gateway": ("mon", "allow *", "osd", "allow *", "mgr", "allow *"),
}


def missing_programs():
    """Programs of Ceph that are not installed here."""
    return [name for name in PROGRAMS if shutil.which(name) is None]


class Ceph:
    """A cluster that runs from ``start`` to ``stop``, with a bucket and one user's keys."""

    def __init__(self, folder, disk_bytes=6 * 2**30):
        self.folder = folder
        monitor, self.port, tls = _free_ports(3)
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self.environment = {
            "AWS_ENDPOINT_URL_S3": self.endpoint,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_CONFIG_FILE": "/dev/null",
        }
        # The same gateway over TLS, as it is in production.
        self.tls_environment = self.environment | {
            "AWS_ENDPOINT_URL_S3": f"https://127.0.0.1:{tls}",
            "AWS_CA_BUNDLE": str(folder / "certificate.pem"),
        }
        self._fsid = str(uuid.uuid4())
        self._monitor = monitor
        self._daemons = []
        self._gateway = None
        for name in ("mon", "mgr", "osd", "rgw"):
            (folder / name).mkdir(parents=True)
        self._configuration = folder / "ceph.conf"
        self._configuration.write_text(
            CONFIGURATION.format(
                fsid=self._fsid, folder=folder, monitor=monitor, gateway=self.port,
                tls=tls, disk_bytes=disk_bytes,
            )
        )  # fmt: skip

    def start(self):
        """Make the cluster and start it; raises RuntimeError with the end of a log."""
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-noenc", "-days", "2",
             "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
             "-keyout", self.folder / "key.pem", "-out", self.folder / "certificate.pem"],
            check=True, capture_output=True,
        )  # fmt: skip
        keyring = str(self.folder / "keyring")
        self._run("ceph-authtool", "--create-keyring", keyring)
        for name, rights in RIGHTS.items():
            pairs = zip(rights[::2], rights[1::2], strict=True)
            caps = [word for kind, right in pairs for word in ("--cap", kind, right)]
            self._run("ceph-authtool", keyring, "--gen-key", "-n", name, *caps)
        address = f"[v2:127.0.0.1:{self._monitor}]"
        map_ = str(self.folder / "monmap")
        self._run("monmaptool", "--create", "--fsid", self._fsid, "--addv", "one", address, map_)
        self._run("ceph-mon", "--mkfs", "-i", "one", "--monmap", map_, "--keyring", keyring)
        self._daemon("ceph-mon", "-i", "one")
        self._run("ceph", "auth", "import", "-i", keyring)
        self._daemon("ceph-mgr", "-i", "one")
        disk = str(uuid.uuid4())
        self._run("ceph", "osd", "new", disk)
        self._run("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", disk)
        self._daemon("ceph-osd", "-i", "0")
        self.start_gateway()
        self._run(
            "radosgw-admin", "user", "create", "--uid", "hub", "--display-name", "hub",
            "--access-key", KEY, "--secret-key", SECRET,
        )  # fmt: skip
        return self

    def start_gateway(self):
        """Start the gateway, and wait until it responds."""
        self._gateway = self._spawn("radosgw", "-n", "client.gateway")
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self._gateway.poll() is None:
            with suppress(urllib.error.URLError, OSError):
                urllib.request.urlopen(  # noqa: S310 - the gateway
                    self.endpoint, timeout=5
                ).close()
                return
            time.sleep(0.2)
        log = (self.folder / "client.gateway.log").read_text()[-2000:]
        raise RuntimeError(f"the gateway does not respond: {log}")

    def kill_gateway(self):
        """End the gateway at once, whatever it does."""
        self._gateway.kill()
        self._gateway.wait()

    def stop(self):
        """End every daemon."""
        for process in (self._gateway, *reversed(self._daemons)):
            if process is not None:
                process.kill()
                process.wait()

    def _daemon(self, *command):
        self._daemons.append(self._spawn(*command))

    def _spawn(self, *command):
        output = (self.folder / f"{command[0]}.out").open("ab")
        with output:
            return subprocess.Popen(
                [*command, "-f", "-c", self._configuration], stdout=output, stderr=output
            )

    def _run(self, program, *arguments):
        configuration = () if program.endswith("tool") else ("-c", str(self._configuration))
        done = subprocess.run(
            [program, *configuration, *arguments],
            capture_output=True, text=True, timeout=START_SECONDS, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{program} {' '.join(arguments)}: {done.stderr[-2000:]}")


def _free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
