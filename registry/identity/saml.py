"""Requests to a SAML 2.0 identity provider, and its answers, by python3-saml.

The library checks signatures, issuer and times. What it takes as optional is demanded here, as by
the Web Browser SSO profile (saml-profiles-2.0-os, 4.1.4.2): audience, exact recipient, the request
that is answered, and an end of validity.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from django.conf import settings
from django.urls import reverse
from lxml import etree
from onelogin.saml2.auth import OneLogin_Saml2_Auth
from onelogin.saml2.constants import OneLogin_Saml2_Constants as Names
from onelogin.saml2.errors import OneLogin_Saml2_Error, OneLogin_Saml2_ValidationError
from onelogin.saml2.response import OneLogin_Saml2_Response
from onelogin.saml2.settings import OneLogin_Saml2_Settings

# Characters of an answer in base64; real ones have 5,000 to 50,000.
LONGEST_ANSWER = 200_000
LONGEST_SUBJECT = 190
_PEM = re.compile(r"-----BEGIN CERTIFICATE-----(.+?)-----END CERTIFICATE-----", re.DOTALL)
_DS, _SAML = f"{{{Names.NS_DS}}}", f"{{{Names.NS_SAML}}}"
# Others run programs that the sender writes (XSLT, XPath), before the signature is checked.
_TRANSFORMS = frozenset(
    {
        "http://www.w3.org/2000/09/xmldsig#enveloped-signature",
        "http://www.w3.org/2001/10/xml-exc-c14n#",
    }
)
_ERRORS = (OneLogin_Saml2_Error, OneLogin_Saml2_ValidationError, etree.LxmlError, ValueError)


class RefusedAnswerError(Exception):
    """An answer that signs no one in; the text is for logs and may quote its sender."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What an assertion states: the subject, the request that it answers, and all attributes."""

    subject: str
    request_id: str
    attributes: dict[str, list[str]]

    def first(self, name: str) -> str:
        """The first value of an attribute, empty where there is none."""
        return next(iter(self.attributes.get(name, [])), "")

    # The names by which allauth's provider reads an answer.

    def get_nameid(self) -> str:
        return self.subject

    def get_nameid_format(self) -> str:
        return ""

    def get_attributes(self) -> dict[str, list[str]]:
        return self.attributes


def begin() -> tuple[str, str]:
    """The address that a browser is sent to, and the ID of the request in it."""
    auth = OneLogin_Saml2_Auth(_request(), old_settings=_configuration())
    address = auth.login(return_to="")
    return address, auth.get_last_request_id()


def metadata() -> bytes:
    """What the provider must know of this hub, as XML."""
    configuration = OneLogin_Saml2_Settings(_configuration(), sp_validation_only=True)
    text: str | bytes = configuration.get_sp_metadata()
    return text.encode() if isinstance(text, str) else text


def verify(text: str) -> Answer:
    """The answer in a SAMLResponse (base64); raises RefusedAnswerError for any other text."""
    if len(text) > LONGEST_ANSWER:
        raise RefusedAnswerError("The answer is too long.")
    try:
        response = OneLogin_Saml2_Response(OneLogin_Saml2_Settings(_configuration()), text)
        _expect_plain(response.document, response.response)
        response.is_valid(_request() | {"post_data": {"SAMLResponse": text}}, raise_exceptions=True)
        return _answer(response)
    except _ERRORS as error:
        raise RefusedAnswerError(str(error)) from error


def _expect_plain(document: Any, source: bytes) -> None:
    """Refuse what no provider sends and what attacks on signatures are made of.

    ``document`` is the library's, which has refused declarations, and left out comments.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    ids = document.xpath("//@ID")
    if len(ids) != len(set(ids)):
        raise RefusedAnswerError("Two elements have one ID.")
    if etree.fromstring(source, parser).xpath("count(//comment() | //processing-instruction())"):
        raise RefusedAnswerError("The answer has comments or processing instructions.")
    for signature in document.iter(f"{_DS}Signature"):
        references = list(signature.iter(f"{_DS}Reference"))
        uris = [reference.get("URI") for reference in references]
        if uris != [f"#{signature.getparent().get('ID')}"]:
            raise RefusedAnswerError("A signature is not of the element around it.")
    transforms = [node.get("Algorithm") for node in document.iter(f"{_DS}Transform")]
    if not _TRANSFORMS.issuperset(transforms) or len(transforms) > 2 * len(_TRANSFORMS):
        raise RefusedAnswerError("A signature has other transforms than SAML allows.")


def _answer(response: Any) -> Answer:
    """The answer of a response whose one assertion is signed, if it is meant for this hub."""
    assertion = next(response.document.iter(f"{_SAML}Assertion"))
    confirmations = [
        node
        for node in assertion.iter(f"{_SAML}SubjectConfirmationData")
        if node.getparent().get("Method") == Names.CM_BEARER
    ]
    audiences = [
        {node.text for node in restriction.iter(f"{_SAML}Audience")}
        for restriction in assertion.iter(f"{_SAML}AudienceRestriction")
    ]
    if len(confirmations) != 1:
        raise RefusedAnswerError("The assertion has not one bearer confirmation.")
    confirmation = confirmations[0]
    request_id = confirmation.get("InResponseTo") or ""
    if not request_id or request_id != response.get_in_response_to():
        raise RefusedAnswerError("The assertion answers no request.")
    if confirmation.get("Recipient") != _url("saml_acs"):
        raise RefusedAnswerError("The assertion is for another recipient.")
    if not confirmation.get("NotOnOrAfter"):
        raise RefusedAnswerError("The assertion has no end.")
    if not audiences or any(_url("saml_metadata") not in names for names in audiences):
        raise RefusedAnswerError("The assertion is for another audience.")
    attributes = {
        name: [str(value) for value in values if value is not None]
        for name, values in response.get_attributes().items()
    }
    return Answer(_subject(response, attributes), request_id, attributes)


def _subject(response: Any, attributes: dict[str, list[str]]) -> str:
    if name := settings.HUB_SAML_ID_ATTRIBUTE:
        subject = next(iter(attributes.get(name, [])), "")
    elif response.get_nameid_format() == Names.NAMEID_TRANSIENT:
        raise RefusedAnswerError(
            "The NameID is transient. Have the provider send a persistent one."
        )
    else:
        subject = str(response.get_nameid() or "")
    if not 0 < len(subject) <= LONGEST_SUBJECT:
        raise RefusedAnswerError(f"The id of the subject has {len(subject)} characters.")
    return subject


def _configuration() -> dict[str, Any]:
    certificates = Path(settings.HUB_SAML_CERTIFICATES).read_text(encoding="utf-8")
    return {
        "strict": True,
        "sp": {
            "entityId": _url("saml_metadata"),
            "assertionConsumerService": {
                "url": _url("saml_acs"),
                "binding": Names.BINDING_HTTP_POST,
            },
            "NameIDFormat": Names.NAMEID_UNSPECIFIED,
        },
        "idp": {
            "entityId": settings.HUB_SAML_ISSUER,
            "singleSignOnService": {
                "url": settings.HUB_SAML_URL,
                "binding": Names.BINDING_HTTP_REDIRECT,
            },
            "x509certMulti": {
                "signing": ["".join(text.split()) for text in _PEM.findall(certificates)]
            },
        },
        "security": {
            "wantAssertionsSigned": True,
            "wantNameId": not settings.HUB_SAML_ID_ATTRIBUTE,
            "wantAttributeStatement": False,
            "requestedAuthnContext": False,
            "rejectDeprecatedAlgorithm": True,
            "allowRepeatAttributeName": True,
            "allowSingleLabelDomains": True,
            # Providers import metadata once; an end would stop sign-in on that day.
            "metadataValidUntil": "",
            "metadataCacheDuration": "",
        },
    }


def _request() -> dict[str, Any]:
    """A request at the public address of answers, as the library wants it."""
    url = urlsplit(_url("saml_acs"))
    return {
        "https": "on" if url.scheme == "https" else "off",
        "http_host": url.netloc,
        "script_name": "",
        "path_info": url.path,
        "get_data": {},
        "post_data": {},
    }


def _url(name: str) -> str:
    return urljoin(settings.HUB_PUBLIC_URL, reverse(name))
