"""Debian's slapd with people of its own, and certificates of an authority that is made here."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

BASE = "dc=example,dc=org"
PEOPLE, GROUPS = f"ou=people,{BASE}", f"ou=groups,{BASE}"
ROOT, ROOT_PASSWORD = f"cn=admin,{BASE}", "admin of the directory"
SEARCHER, SEARCHER_PASSWORD = f"cn=hub,{BASE}", "the hub searches"
PASSWORD = "a password of the directory"
SLAPD = shutil.which("slapd", path="/usr/sbin:/usr/bin:/usr/lib/openldap") or ""

CONFIGURATION = """
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
attributetype ( 1.2.840.113556.1.4.2 NAME 'objectGUID' EQUALITY octetStringMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.40 SINGLE-VALUE )
attributetype ( 1.2.840.113556.1.4.221 NAME 'sAMAccountName' EQUALITY caseIgnoreMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE )
objectclass ( 1.2.840.113556.1.3.23 NAME 'securityPrincipal' SUP top AUXILIARY
  MAY ( objectGUID $ sAMAccountName ) )
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile {folder}/slapd.pid
TLSCACertificateFile {folder}/ca.pem
TLSCertificateFile {folder}/server.crt
TLSCertificateKeyFile {folder}/server.pem
allow bind_anon_dn
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="cn=hub,{base}" read by * none
database mdb
suffix "{base}"
rootdn "{root}"
rootpw {root_password}
directory {folder}/database
"""
ENTRIES = f"""
dn: {BASE}
objectClass: dcObject
objectClass: organization
dc: example
o: Example

dn: {PEOPLE}
objectClass: organizationalUnit
ou: people

dn: {GROUPS}
objectClass: organizationalUnit
ou: groups

dn: {SEARCHER}
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: hub
userPassword: {SEARCHER_PASSWORD}
"""


def needs_directory():
    """The reason to skip a test here; empty where all is there."""
    try:
        import ldap  # noqa: F401
    except ImportError:
        return "needs python-ldap, the extra ldap"
    return "" if SLAPD else "needs Debian's slapd"


def certify(folder: Path, host: str = "127.0.0.1") -> None:
    """An authority (`ca.pem`) and a certificate of it for a host (`server.crt`, `server.pem`)."""
    ca, server = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Example directory CA")])
    basic = x509.BasicConstraints(ca=True, path_length=None)
    certificate = _builder(name, name, ca).add_extension(basic, True).sign(ca, hashes.SHA256())
    (folder / "ca.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    try:
        names = [x509.IPAddress(ip_address(host)), x509.DNSName("localhost")]
    except ValueError:
        names = [x509.DNSName(host)]
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    builder = _builder(subject, name, server)
    signed = builder.add_extension(x509.SubjectAlternativeName(names), False)
    (folder / "server.crt").write_bytes(
        signed.sign(ca, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    )
    (folder / "server.pem").write_bytes(
        server.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


def _builder(subject, issuer, key):
    now = datetime.now(UTC)
    return x509.CertificateBuilder(
        subject_name=subject,
        issuer_name=issuer,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=now - timedelta(hours=1),
        not_valid_after=now + timedelta(days=2),
    )


class Directory:
    """A slapd that runs; its root writes entries."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.port, self.tls_port = free_port(), free_port()
        self.process = None

    def start(self):
        # The certificate is that of 127.0.0.1 alone.
        hosts = (f"ldaps://127.0.0.{number}:{self.tls_port}/" for number in (1, 2))
        urls = " ".join([f"ldap://127.0.0.1:{self.port}/", *hosts])
        self.process = subprocess.Popen(
            [SLAPD, "-f", str(self.folder / "slapd.conf"), "-h", urls, "-d", "0"]
        )
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.tls_port)) == 0:
                    return
            assert self.process.poll() is None, "slapd ended"
            time.sleep(0.1)
        raise AssertionError("slapd does not start")

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=10)

    @contextmanager
    def root(self):
        import ldap

        connection = ldap.initialize(f"ldap://127.0.0.1:{self.port}")
        connection.simple_bind_s(ROOT, ROOT_PASSWORD)
        yield connection
        connection.unbind_s()

    def add(self, name, *, mail="", password=PASSWORD, unit=PEOPLE, guid=b""):
        """A person, as of Active Directory with a guid; returns the entry's name (DN)."""
        from ldap.dn import escape_dn_chars

        dn = f"uid={escape_dn_chars(name)},{unit}"
        texts = {"uid": name, "cn": name, "sn": name, "userPassword": password}
        texts |= {"mail": mail} if mail else {}
        rows = [("objectClass", [b"inetOrgPerson"])]
        rows += [(attribute, [text.encode()]) for attribute, text in texts.items()]
        if guid:
            rows[0] = ("objectClass", [b"inetOrgPerson", b"securityPrincipal"])
            rows += [("objectGUID", [guid]), ("sAMAccountName", [f"{name}-sam".encode()])]
        with self.root() as connection:
            connection.add_s(dn, rows)
        return dn

    def remove(self, dn):
        with self.root() as connection:
            connection.delete_s(dn)

    def rename(self, dn, name):
        """Another name of a person, whose id stays."""
        with self.root() as connection:
            connection.rename_s(dn, f"uid={name}")
        return f"uid={name},{PEOPLE}"

    def group(self, name, *members, unit=GROUPS):
        """Make or replace a group; without members it is removed."""
        import ldap

        dn = f"cn={name},{unit}"
        with self.root() as connection:
            with suppress(ldap.NO_SUCH_OBJECT):
                connection.delete_s(dn)
            if members:
                rows = [("objectClass", [b"groupOfNames"]), ("cn", [name.encode()])]
                connection.add_s(dn, [*rows, ("member", [each.encode() for each in members])])


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@contextmanager
def run_directory(folder: Path):
    """A slapd with its database in a folder, until the block ends."""
    if reason := needs_directory():
        pytest.skip(reason)
    certify(folder)
    (folder / "database").mkdir()
    (folder / "slapd.conf").write_text(
        CONFIGURATION.format(
            folder=folder, base=BASE, root=ROOT, root_password=f'"{ROOT_PASSWORD}"'
        )
    )
    (folder / "entries.ldif").write_text(ENTRIES)
    slapadd = shutil.which("slapadd", path="/usr/sbin:/usr/bin")
    configuration = ["-f", str(folder / "slapd.conf"), "-l", str(folder / "entries.ldif")]
    subprocess.run([slapadd, *configuration], check=True, capture_output=True)
    directory = Directory(folder)
    directory.start()
    try:
        yield directory
    finally:
        directory.stop()
