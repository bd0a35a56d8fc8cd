"""A client certificate over real TLS: who sees it, who does not, and what is said without one."""

from __future__ import annotations

import datetime
import hashlib
import http.server
import json
import ssl
import threading
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from hub.client.config import Config
from hub.client.connection_errors import as_unreachable
from hub.client.hub import Hub
from hub.client.training import identity
from hub.client.transport import Transport
from hub.protocol import problems
from tests.unit.client.forward_proxies import ForwardProxy, HttpHandler

NOW = datetime.datetime.now(datetime.UTC)
PLAIN = serialization.NoEncryption()


def issued(name, issuer=None, *, authority=False):
    """A certificate for 127.0.0.1 with its key; its own issuer without another."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    by, signer = issuer or (None, key)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by.subject if by else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - datetime.timedelta(days=1))
        .not_valid_after(NOW + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .sign(signer, hashes.SHA256())
    )
    return certificate, key


def pem(certificate):
    return certificate.public_bytes(serialization.Encoding.PEM)


def pem_key(key, encryption=PLAIN):
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, encryption)


@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    """An authority, a server's and a device's certificate, in files."""
    folder = tmp_path_factory.mktemp("papers")
    authority = issued("authority", authority=True)
    server, device = issued("server", authority), issued("device", authority)
    files = {
        "authority.pem": pem(authority[0]),
        "server.pem": pem(server[0]) + pem_key(server[1]),
        "device.pem": pem(device[0]),
        "device.key": pem_key(device[1]),
        "both.pem": pem(device[0]) + pem_key(device[1]),
        "other.key": pem_key(server[1]),
        "locked.key": pem_key(device[1], serialization.BestAvailableEncryption(b"secret-words")),
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    der = device[0].public_bytes(serialization.Encoding.DER)
    return folder, hashlib.sha256(der).hexdigest()


class _Seen(http.server.BaseHTTPRequestHandler):
    """Answers with the digest of the certificate that it saw, or redirects to another server."""

    def do_GET(self):
        der = self.connection.getpeercert(binary_form=True)
        self.server.seen.append(hashlib.sha256(der).hexdigest() if der else None)
        if self.server.onward:
            self.send_response(307)
            self.send_header("Location", self.server.onward)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = json.dumps({"seen": self.server.seen[-1]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class _Quiet(http.server.ThreadingHTTPServer):
    def get_request(self):
        """Let nobody in without a certificate; as servers do, stay until the refusal was read."""
        plain, address = self.socket.accept()
        with plain.dup() as kept:
            try:
                return self.context.wrap_socket(plain, server_side=True), address
            except OSError:
                kept.settimeout(10)
                while kept.recv(4096):
                    pass
                raise

    def handle_error(self, request, client_address):
        """A client that is turned away by TLS is what the tests ask for."""


@pytest.fixture
def serve(papers, monkeypatch):
    """Start TLS servers that demand a certificate, or merely ask for one."""
    folder, _ = papers
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "authority.pem"))
    started = []

    def serve(verify=ssl.CERT_REQUIRED, onward=""):
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(folder / "server.pem")
        context.load_verify_locations(folder / "authority.pem")
        context.verify_mode = verify
        server = _Quiet(("127.0.0.1", 0), _Seen)
        server.seen, server.onward = [], onward
        server.context = context
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        started.append((server, thread))
        return server, f"https://127.0.0.1:{server.server_port}"

    yield serve
    for server, thread in started:
        server.shutdown()
        thread.join()
        server.server_close()


def transport(url, tmp_path, **given):
    return Transport(Config(url, cache=tmp_path / "cache", **given), sleep=lambda _: None)


@pytest.mark.parametrize("names", [("device.pem", "device.key"), ("both.pem", None)])
def test_the_hub_sees_the_certificate(papers, serve, tmp_path, names):
    folder, digest = papers
    _, url = serve()
    key = folder / names[1] if names[1] else None
    asked = transport(url, tmp_path, certificate=folder / names[0], certificate_key=key)
    assert asked.request("GET", "/api/v1/whoami").json() == {"seen": digest}


def test_without_one_nothing_is_answered(serve, tmp_path):
    server, url = serve()
    with pytest.raises(problems.Unreachable):
        transport(url, tmp_path).request("GET", "/api/v1/whoami")
    assert server.seen == []


def test_the_server_s_alert_says_what_to_give():
    # It comes after the handshake (RFC 8446, 4.4.2.4), so that a real one may be too late to read.
    alert = ssl.SSLError(1, "[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED] tlsv13 alert (_ssl.c:2580)")
    with (
        pytest.raises(problems.Unreachable, match="client certificate; set HUB_CLIENT_CERTIFICATE"),
        as_unreachable("https://hub.example"),
    ):
        raise alert


def test_no_other_server_sees_it(papers, serve, tmp_path):
    folder, digest = papers
    other, elsewhere = serve(ssl.CERT_OPTIONAL)
    own, url = serve(ssl.CERT_OPTIONAL, onward=f"{elsewhere}/x")
    asked = transport(url, tmp_path, certificate=folder / "both.pem")
    assert asked.request("GET", "/api/v1/whoami").json() == {"seen": None}
    assert (own.seen, other.seen) == ([digest], [None])


@pytest.mark.parametrize(
    ("certificate", "key", "words"),
    [
        ("device.pem", "other.key", "key values mismatch"),
        ("device.pem", "locked.key", "the key has a password"),
        ("device.pem", None, "no start line|pem lib"),
        ("missing.pem", None, "no such file"),
        ("device.key", "device.key", "no start line|pem lib"),
    ],
)
def test_files_that_cannot_be_used_are_named_and_never_quoted(
    papers, serve, tmp_path, certificate, key, words
):
    folder, _ = papers
    server, url = serve()
    given = {"certificate": folder / certificate, "certificate_key": folder / key if key else None}
    with pytest.raises(problems.InvalidRequest, match=words) as caught:
        transport(url, tmp_path, **given).request("GET", "/api/v1/whoami")
    assert certificate in str(caught.value)
    assert "PRIVATE KEY" not in str(caught.value)
    assert server.seen == []


@pytest.mark.parametrize("name", ["HUB_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"])
def test_an_authority_of_ones_own(papers, serve, monkeypatch, name):
    folder, _ = papers
    _, url = serve(ssl.CERT_OPTIONAL)
    for other in ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"):
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv("HUB_URL", url)
    monkeypatch.setenv("HUB_RETRY_SECONDS", "0")
    with pytest.raises(problems.Unreachable, match=r"not trusted: .*HUB_CA_BUNDLE") as caught:
        Transport(Config.from_environment()).get("/api/v1/whoami")
    assert not caught.value.is_transient
    monkeypatch.setenv(name, str(folder / "authority.pem"))
    assert Transport(Config.from_environment()).get("/api/v1/whoami") == {"seen": None}


def test_an_authority_goes_along_with_a_certificate_and_a_tunnel(papers, serve, monkeypatch):
    folder, _ = papers
    _, url = serve()
    monkeypatch.delenv("SSL_CERT_FILE")
    proxy = ForwardProxy(HttpHandler, url, credentials="fleet:right")
    monkeypatch.setenv("HTTPS_PROXY", f"http://fleet:right@127.0.0.1:{proxy.port}")
    # Another name of this machine, which is not left out of proxies.
    config = Config(
        url.replace("127.0.0.1", "127.0.0.2"),
        certificate=folder / "both.pem",
        authorities=folder / "authority.pem",
        retry_seconds=0,
    )
    try:
        with pytest.raises(problems.Unreachable, match="mismatch"):
            Transport(config).get("/api/v1/whoami")
        assert len(proxy.targets) == 1
    finally:
        proxy.close()


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_authorities_that_cannot_be_read(serve, tmp_path, content):
    _, url = serve()
    bundle = tmp_path / "bundle.pem"
    if content:
        bundle.write_text(content)
    with pytest.raises(problems.InvalidRequest, match=r"cannot be read.*HUB_CA_BUNDLE"):
        transport(url, tmp_path, authorities=bundle).get("/api/v1/whoami")


def test_the_environment_names_one_for_its_own_hub_alone(papers, monkeypatch):
    folder, _ = papers
    monkeypatch.setenv("HUB_URL", "https://hub.example")
    monkeypatch.setenv("HUB_CLIENT_CERTIFICATE", str(folder / "device.pem"))
    monkeypatch.setenv("HUB_CLIENT_KEY", str(folder / "device.key"))
    own = Config.from_environment()
    assert (own.certificate, own.certificate_key) == (folder / "device.pem", folder / "device.key")
    assert Config.from_environment(url="https://other.example").certificate is None
    given = Config.from_environment(certificate=folder / "both.pem")
    assert (given.certificate, given.certificate_key) == (folder / "both.pem", None)
    monkeypatch.delenv("HUB_CLIENT_CERTIFICATE")
    with pytest.raises(problems.InvalidRequest, match="without its certificate"):
        Config.from_environment()


def test_a_training_shows_the_device_s_own(papers, serve, tmp_path):
    folder, digest = papers
    _, url = serve()
    hub = Hub(url, cache=tmp_path / "cache", token="")
    ref = "lab/net/trainings/1"
    part = hub.training(
        ref, certificate=folder / "device.pem", certificate_key=folder / "device.key"
    )
    assert part.info() == {"seen": digest}
    # Joined, it shows the same one beside its token.
    place = identity.path_of(url, ref, "default")
    identity.keep(place, identity.Identity(b"k" * 32, "p_1", "fp_1", "id"))
    again = hub.training(ref, certificate=folder / "both.pem")
    assert again.participant == "p_1"
    assert again.info() == {"seen": digest}
    assert "PRIVATE" not in place.read_text()
    with pytest.raises(problems.InvalidRequest, match="without its certificate"):
        hub.training(ref, certificate_key=folder / "device.key")
