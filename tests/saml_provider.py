"""A SAML identity provider by pysaml2, which signs with Debian's xmlsec1; and what forgers make."""

from __future__ import annotations

import base64
import shutil
import subprocess
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

ISSUER = "https://id.example.org/saml"
URL = "https://id.example.org/saml/sso"
XMLSEC = shutil.which("xmlsec1") or ""
SHA_256 = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"
PERSISTENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"


def needs_provider():
    """The reason to skip a test here; empty where all is there."""
    try:
        import onelogin  # noqa: F401
        import saml2  # noqa: F401
    except ImportError:
        return "needs python3-saml and pysaml2, the extra saml"
    return "" if XMLSEC else "needs Debian's xmlsec1"


def make_key(folder: Path, name: str) -> tuple[Path, Path]:
    """A private key and a certificate of it, as PEM."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = x509.CertificateBuilder(
        subject_name=subject,
        issuer_name=subject,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=now - timedelta(days=1),
        not_valid_after=now + timedelta(days=2),
    ).sign(key, hashes.SHA256())
    private, public = folder / f"{name}.key", folder / f"{name}.crt"
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
    public.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return private, public


class Provider:
    """An identity provider that knows the hub by its metadata."""

    def __init__(self, folder: Path, metadata: str, name: str = "provider", url: str = URL):
        self.key, self.certificate = make_key(folder, name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from saml2 import BINDING_HTTP_REDIRECT
            from saml2.config import IdPConfig
            from saml2.server import Server

            sso = {"single_sign_on_service": [(url, BINDING_HTTP_REDIRECT)]}
            basic = "urn:oasis:names:tc:SAML:2.0:attrname-format:basic"
            policy = {"default": {"lifetime": {"minutes": 5}, "name_form": basic}}
            configuration = {
                "entityid": ISSUER,
                "xmlsec_binary": XMLSEC,
                "key_file": str(self.key),
                "cert_file": str(self.certificate),
                "service": {"idp": {"endpoints": sso, "policy": policy}},
                "metadata": {"inline": [metadata]},
            }
            self.server = Server(config=IdPConfig().load(configuration))

    def read(self, location: str):
        """The request in an address that the hub sends a browser to, checked by pysaml2."""
        from saml2 import BINDING_HTTP_REDIRECT

        text = parse_qs(urlsplit(location).query)["SAMLRequest"][0]
        return self.server.parse_authn_request(text, BINDING_HTTP_REDIRECT).message

    def answer(
        self, location: str, subject="g1", form=PERSISTENT, change=None, **attributes
    ) -> str:
        """The XML of the answer to a request, whose assertion is signed.

        ``change`` gets the keyword arguments of pysaml2, to change them.
        """
        from saml2.saml import NameID

        message = self.read(location)
        arguments = {
            "identity": {name: value for name, value in attributes.items() if value},
            "in_response_to": message.id,
            "destination": message.assertion_consumer_service_url,
            "sp_entity_id": message.issuer.text,
            "name_id": NameID(format=form, text=subject),
            "authn": {"class_ref": "urn:oasis:names:tc:SAML:2.0:ac:classes:Password"},
            "sign_assertion": True,
            "sign_response": False,
            "sign_alg": SHA_256,
            "digest_alg": "http://www.w3.org/2001/04/xmlenc#sha256",
        }
        if change:
            change(arguments)
        return str(self.server.create_authn_response(**arguments))

    def sign(self, xml: str, folder: Path, *, node="Assertion") -> str:
        """Sign once more what has an (empty) signature template, by xmlsec1 itself."""
        source, target = folder / "unsigned.xml", folder / "signed.xml"
        source.write_text(xml)
        names = {
            "Assertion": "urn:oasis:names:tc:SAML:2.0:assertion:Assertion",
            "Response": "urn:oasis:names:tc:SAML:2.0:protocol:Response",
        }
        subprocess.run(
            [XMLSEC, "--sign", "--privkey-pem", str(self.key), "--id-attr:ID", names[node],
             "--output", str(target), str(source)],
            check=True, capture_output=True,
        )  # fmt: skip
        return target.read_text()


def encoded(xml: str) -> str:
    """The value of SAMLResponse."""
    return base64.b64encode(xml.encode()).decode()
