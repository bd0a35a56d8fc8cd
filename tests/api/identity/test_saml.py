"""Sign-in with a SAML identity provider: pysaml2 and xmlsec1, and what forgers make of answers."""

from __future__ import annotations

import base64
import random
import re
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from hub.server.settings.identity import GroupRole
from registry.core import usage
from registry.identity.models import SecurityEvent
from registry.models import Event, Membership, Namespace, User
from registry.people.services import namespaces
from tests import saml_provider
from tests.saml_provider import encoded

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.capability("identity"),
    # pysaml2 uses what Python will remove.
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(
        bool(saml_provider.needs_provider()), reason=saml_provider.needs_provider() or "none"
    ),
]
BEGIN, ACS, METADATA = (f"/login/with/saml{path}" for path in ("", "/acs", "/metadata"))
GRACE = {"username": "grace", "email": "grace@example.org"}
MAIL = "urn:mace:dir:attribute-def:email"
FAILED = "Signature validation failed"
CONFIRMATION = "valid SubjectConfirmation was not found"
OTHER = "https://other.example.org"
SHA_1 = "http://www.w3.org/2000/09/xmldsig#rsa-sha1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("saml")


@pytest.fixture(scope="module")
def certificate(folder):
    """That of another provider, in front of the one in use, as while keys change."""
    return saml_provider.make_key(folder, "former")[1]


@pytest.fixture
def provider(settings, folder, certificate):
    settings.HUB_SAML_ISSUER, settings.HUB_SAML_URL = saml_provider.ISSUER, saml_provider.URL
    settings.HUB_SAML_MAIL_ATTRIBUTE = MAIL
    settings.HUB_SAML_CERTIFICATES = str(certificate)
    metadata = Client().get(METADATA)
    assert metadata.status_code == 200
    made = saml_provider.Provider(folder, metadata.content.decode())
    both = folder / "both.pem"
    both.write_bytes(certificate.read_bytes() + made.certificate.read_bytes())
    settings.HUB_SAML_CERTIFICATES = str(both)
    return made


def begin(client, process=""):
    """The address at the provider that the hub sends a browser to."""
    answer = client.post(BEGIN + process)
    assert answer.status_code == 302, answer.content
    assert answer["Location"].startswith(saml_provider.URL)
    return answer["Location"]


def send(client, xml, **more):
    return client.post(ACS, {"SAMLResponse": encoded(xml), **more})


def sign_in(provider, client, process="", **arguments):
    """Follow the way of a browser; gives the answer of the hub."""
    location = begin(client, process)
    return send(client, provider.answer(location, **{**GRACE, **arguments}))


def whoami(client):
    return client.get("/api/v1/whoami").json().get("username")


@pytest.fixture
def refused(caplog):
    """Assert that an answer signs no one in, and the reason that the log has."""

    def check(client, xml, reason):
        caplog.clear()
        answer = send(client, xml)
        assert answer.status_code == 401, answer.content
        assert "Not signed in" in answer.content.decode()
        assert whoami(client) is None
        assert User.objects.count() == 0
        lines = [record.msg for record in caplog.records if isinstance(record.msg, dict)]
        (line,) = [line for line in lines if line["event"] == "saml_answer_refused"]
        assert re.search(reason, line["reason"]), line["reason"]

    return check


def test_without_a_provider_there_is_no_such_sign_in(client):
    for answer in (client.post(BEGIN), client.post(ACS), client.get(METADATA)):
        assert answer.status_code == 404
    assert BEGIN not in client.get("/login").content.decode()


def test_a_first_sign_in_makes_an_account(provider, client):
    assert BEGIN in client.get("/login").content.decode()
    assert sign_in(provider, client).status_code == 302
    assert whoami(client) == "grace"
    user = User.objects.get(username="grace")
    assert not user.has_usable_password()
    assert user.emailaddress_set.get().email == user.email == "grace@example.org"
    assert user.socialaccount_set.get().uid == "g1"
    assert Namespace.objects.filter(slug="grace").exists()
    assert Event.objects.filter(verb="user.created", subject_id=user.pk).exists()
    again = Client()
    sign_in(provider, again, username="renamed")
    assert whoami(again) == "grace"
    usage.notes.flush()
    assert SecurityEvent.objects.filter(kind="sign_in", actor=user).count() == 2


def test_sign_in_begins_with_a_post_and_a_token():
    browser = Client(enforce_csrf_checks=True)
    assert browser.post(BEGIN).status_code == 403
    assert Client().get(BEGIN).status_code == 405


def test_an_answer_without_the_cookie_is_sent_again_by_a_page_of_the_hub(provider):
    browser = Client(enforce_csrf_checks=True)
    token = browser.get("/login").content.decode().split('csrfmiddlewaretoken" value="')[1]
    location = browser.post(BEGIN, {"csrfmiddlewaretoken": token.partition('"')[0]})["Location"]
    xml = provider.answer(location, **GRACE)
    stranger = Client(enforce_csrf_checks=True)  # as a browser that keeps its cookies back
    page = send(stranger, xml)
    assert page.status_code == 200
    assert not page.cookies
    text = page.content.decode()
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]+)"', text))
    fields = {name: fields[name] for name in ("SAMLResponse", "again")}
    assert "send.js" in text
    assert "no-store" in page["Cache-Control"]
    assert browser.post(ACS, fields).status_code == 302
    assert whoami(browser) == "grace"
    assert stranger.post(ACS, fields).status_code == 401


def test_metadata_are_those_of_the_hub(provider, client):
    text = client.get(METADATA).content.decode()
    assert 'WantAssertionsSigned="true"' in text
    assert 'entityID="http://testserver/login/with/saml/metadata"' in text
    assert 'Location="http://testserver/login/with/saml/acs"' in text
    assert "validUntil" not in text


def test_names_of_the_request_do_not_count(provider, settings, client):
    settings.HUB_PUBLIC_URL = "https://hub.example.org"
    assert 'Location="https://hub.example.org/' in client.get(METADATA).content.decode()


# Accounts.


def test_a_name_that_is_taken_is_no_way_in(provider, client, ada):
    sign_in(provider, client, subject="m1", username="ada", email="")
    assert whoami(client) == "ada-2"


def test_an_address_of_an_account_is_no_way_in(provider, client, ada):
    User.objects.filter(pk=ada.pk).update(email="grace@example.org")
    assert sign_in(provider, client).status_code == 409
    assert whoami(client) is None
    assert User.objects.count() == 1


def test_an_account_is_connected_by_its_owner_alone(provider, ada):
    owner = Client()
    owner.post("/login", {"username": "ada", "password": "a long enough password"})
    asked = sign_in(provider, owner, process="?process=connect")
    assert asked.url.startswith("/account/confirm")
    assert owner.post(asked.url, {"password": "a long enough password"}).status_code == 302
    browser = Client()
    sign_in(provider, browser)
    assert whoami(browser) == "ada"


def test_accounts_may_be_closed_to_strangers(provider, client, settings):
    settings.HUB_SAML_ACCOUNTS = False
    assert "You have no account here" in sign_in(provider, client).content.decode()
    assert User.objects.count() == 0


def test_a_closed_account_stays_closed(provider, client):
    sign_in(provider, client)
    User.objects.update(is_active=False)
    browser = Client()
    sign_in(provider, browser)
    assert whoami(browser) is None


def test_groups_give_and_take_roles(provider, settings, ada):
    lab = namespaces.create(ada, slug="lab")
    settings.HUB_SAML_GROUPS = [
        GroupRole("staff", "lab", "reader"),
        GroupRole("chemists", "lab", "maintainer"),
    ]
    roles = []
    for groups in (["staff", "chemists"], ["staff"], []):
        sign_in(provider, Client(), groups=groups)
        of = Membership.objects.filter(namespace=lab, user__username="grace")
        roles.append(of.values_list("role", flat=True).first())
    assert roles == ["maintainer", "reader", None]


def test_an_attribute_may_be_the_id(provider, client, settings):
    settings.HUB_SAML_ID_ATTRIBUTE = "number"
    sign_in(provider, client, subject="x1", number="42")
    assert User.objects.get().socialaccount_set.get().uid == "42"
    sign_in(provider, Client(), subject="x2", number="42")
    assert User.objects.count() == 1
    assert sign_in(provider, Client(), subject="x3").status_code == 401


def test_a_name_of_one_session_is_no_id(provider, client, refused):
    location = begin(client)
    form = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"
    refused(client, provider.answer(location, form=form, **GRACE), "transient")


# Answers that sign no one in.


def test_an_answer_counts_once(provider, client):
    location = begin(client)
    xml = provider.answer(location, **GRACE)
    assert send(client, xml).status_code == 302
    client.post("/logout")
    for more in ({}, {"again": "1"}):
        send(client, xml, **more)
        assert whoami(client) is None
    begin(client)  # another request waits
    assert send(client, xml).status_code == 401
    assert whoami(client) is None


def test_an_answer_to_another_session_is_refused(provider, client, refused):
    theirs = begin(Client())
    begin(client)
    refused(client, provider.answer(theirs, **GRACE), "did not ask")


def test_an_answer_that_no_one_asked_for_is_refused(provider, client, refused):
    def unasked(arguments):
        arguments["in_response_to"] = None

    location = begin(client)
    refused(client, provider.answer(location, change=unasked, **GRACE), "answers no request")
    usage.notes.flush()
    assert SecurityEvent.objects.filter(kind="sign_in_refused").count() == 1


def test_an_unasked_assertion_in_an_answer_of_the_session_is_refused(provider, client, refused):
    def unasked(arguments):
        arguments["in_response_to"] = None

    location = begin(client)
    request_id = provider.read(location).id
    xml = provider.answer(location, change=unasked, **GRACE)
    # Around the assertion nothing is signed.
    forged = re.sub(
        r"(Response [^>]*?)( Version=)", rf'\1 InResponseTo="{request_id}"\2', xml, count=1
    )
    assert forged != xml
    refused(client, forged, "answers no request")


@pytest.mark.parametrize(("signs", "of"), [(False, False), (False, True)])
def test_an_assertion_must_be_signed_itself(provider, client, signs, of, refused):
    def unsigned(arguments):
        arguments["sign_assertion"], arguments["sign_response"] = signs, of

    refused(client, provider.answer(begin(client), change=unsigned, **GRACE), "not signed")


def test_a_signed_response_around_a_signed_assertion_is_taken(provider, client):
    def signed(arguments):
        arguments["sign_response"] = True

    send(client, provider.answer(begin(client), change=signed, **GRACE))
    assert whoami(client) == "grace"


def test_an_assertion_of_another_key_is_refused(provider, client, folder, refused):
    metadata = client.get(METADATA).content.decode()
    other = saml_provider.Provider(folder, metadata, "other")
    refused(client, other.answer(begin(client), **GRACE), "Signature validation failed")


def test_sha_1_is_refused(provider, client, refused):
    def old(arguments):
        arguments["sign_alg"] = SHA_1

    refused(client, provider.answer(begin(client), change=old, **GRACE), "Deprecated")


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (">g1<", ">g2<", FAILED),
        (">grace<", ">ada<", FAILED),
        ("g1</", "g1<!-- x --></", "comments"),
        (">g1<", "><!-- x -->g1<", "comments"),
        (">g1<", ">g1<?x y?><", "comments"),
        (r"DigestValue>[^<]{4}", "DigestValue>AAAA", FAILED),
        (r"SignatureValue>[^<]{4}", "SignatureValue>AAAA", FAILED),
        ("xmldsig#enveloped-signature", "xmldsig#base64", "transforms"),
        (r'xml-exc-c14n#("/></ns2:Transforms>)', 'xslt"/></ns2:Transforms>', "transforms"),
        ("2001/04/xmldsig-more#rsa-sha256", "2001/04/xmldsig-more#hmac-sha256", FAILED),
        ('Reference URI="#', 'Reference URI="', "the element around"),
        ('Reference URI="#[^"]+"', 'Reference URI=""', "the element around"),
        ("<ns0:Response", '<!DOCTYPE a [<!ENTITY e "g1">]><ns0:Response', "DTD"),
        ("status:Success", "status:Responder", "status code"),
    ],
)  # fmt: skip
def test_what_is_changed_is_refused(provider, client, before, after, reason, refused):
    xml = provider.answer(begin(client), **GRACE)
    changed, count = re.subn(before, lambda _: after, xml, count=1)
    assert count
    refused(client, changed, reason)


def test_a_comment_in_a_name_is_refused_though_the_signature_holds(provider, client, refused):
    # Canonical XML leaves comments out, so the signature of mallory's own account is right.
    xml = provider.answer(begin(client), subject="g1.evil.example", **GRACE)
    forged = xml.replace(">g1.evil.example<", ">g1<!-- -->.evil.example<", 1)
    assert forged != xml
    refused(client, forged, "comments")


def parts(xml):
    """The assertion of an answer, and what is before and after it."""
    start = xml.index("<ns1:Assertion ")
    end = xml.index("</ns1:Assertion>") + len("</ns1:Assertion>")
    return xml[:start], xml[start:end], xml[end:]


def without_signature(assertion):
    return re.sub(r"<ns2:Signature .*?</ns2:Signature>", "", assertion, flags=re.DOTALL)


def wrap(kind, xml):
    """A forged assertion beside or around the signed one (Somorovsky et al., 2012, XSW 1 to 8)."""
    before, signed, after = parts(xml)
    forged = without_signature(signed).replace(">g1<", ">victim<").replace(">grace<", ">victim<")
    other = re.sub(r' ID="[^"]+"', ' ID="forged"', forged, count=1)
    signature = re.search(r"<ns2:Signature .*?</ns2:Signature>", signed, re.DOTALL)[0]
    extension = "<ns0:Extensions>{}</ns0:Extensions>"
    at_issuer = other.index("</ns1:Issuer>") + len("</ns1:Issuer>")
    holding = signature.replace(
        "</ns2:Signature>", f"<ns2:Object>{without_signature(signed)}</ns2:Object></ns2:Signature>"
    )
    extended = before.replace("<ns0:Status>", extension.format(signed) + "<ns0:Status>")
    return {
        "before": before + other + signed + after,
        "after": before + signed + other + after,
        "same id before": before + forged + signed + after,
        "same id after": before + signed + forged + after,
        "around": before + other.replace("</ns1:Assertion>", signed + "</ns1:Assertion>") + after,
        "in extensions": extended + other + after,
        "in the signature": before + other[:at_issuer] + holding + other[at_issuer:] + after,
        "in the signature, same id": before
        + forged[: forged.index("</ns1:Issuer>") + 13] + holding
        + forged[forged.index("</ns1:Issuer>") + 13 :] + after,
        "whole answer inside": before.replace(
            "<ns0:Status>", extension.format(re.sub(r"^<\?xml.*?\?>\s*", "", xml)) + "<ns0:Status>"
        ) + other + after,
    }[kind]  # fmt: skip


@pytest.mark.parametrize(
    "kind",
    ["before", "after", "same id before", "same id after", "around", "in extensions",
     "in the signature", "in the signature, same id", "whole answer inside"],
)  # fmt: skip
def test_wrapped_signatures_are_refused(provider, client, kind, refused):
    xml = provider.answer(begin(client), **GRACE)
    refused(client, wrap(kind, xml), "1 assertion|one ID|element around")


class Assertion:
    """A change of the signed assertion by the provider itself, whose signature holds."""

    def __init__(self, provider, folder):
        self.provider, self.folder = provider, folder

    def answer(self, location, before, after):
        xml = self.provider.answer(location, **GRACE)
        changed, count = re.subn(before, after, xml)
        assert count, before
        head, assertion, tail = parts(changed)
        for name in ("DigestValue", "SignatureValue", "X509Certificate"):
            assertion = re.sub(rf"(<ns2:{name}>)[^<]*", r"\1", assertion)
        return self.provider.sign(head + assertion + tail, self.folder)


@pytest.fixture
def assertion(provider, folder):
    return Assertion(provider, folder)


def at(minutes):
    return (datetime.now(UTC) + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_an_assertion_that_is_signed_anew_is_taken(assertion, client):
    send(client, assertion.answer(begin(client), ">g1<", ">g3<"))
    assert User.objects.get().socialaccount_set.get().uid == "g3"


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (r"<ns1:Audience>[^<]+", f"<ns1:Audience>{OTHER}", "not a valid audience"),
        (r"<ns1:AudienceRestriction>.*</ns1:AudienceRestriction>", "", "another audience"),
        (r'Recipient="[^"]+"', f'Recipient="{OTHER}/acs"', CONFIRMATION),
        (r'Recipient="([^"]+)"', rf'Recipient="{OTHER}/?\1"', "another recipient"),
        (r' Recipient="[^"]+"', "", "another recipient"),
        (r'(SubjectConfirmationData) NotOnOrAfter="[^"]+"', r"\1", "no end"),
        (r'(Recipient="[^"]+") InResponseTo="[^"]+"', r"\1", "answers no request"),
        (r'(Recipient="[^"]+") InResponseTo="[^"]+"', r'\1 InResponseTo="a"', CONFIRMATION),
        (r"cm:bearer", "cm:sender-vouches", CONFIRMATION),
        (r'(<ns1:Issuer Format="[^"]+">)[^<]+', rf"\1{OTHER}", "Invalid issuer"),
        (r"<ns1:Subject>.*</ns1:Subject>", "", CONFIRMATION),
        (r">g1<", "><", "NameID"),
        (r">g1<", ">" + "g" * 191 + "<", "191 characters"),
    ],
)
def test_a_right_signature_is_not_enough(assertion, client, before, after, reason, refused):
    refused(client, assertion.answer(begin(client), before, after), reason)


@pytest.mark.parametrize(
    ("name", "minutes", "reason"),
    [
        ("NotOnOrAfter", -10, "expired"),
        ("NotBefore", 10, "not yet valid"),
        # Clocks may differ by five minutes.
        ("NotBefore", 4, ""),
    ],
)
def test_times_of_an_assertion_count(assertion, client, name, minutes, reason, refused):
    xml = assertion.answer(begin(client), rf'{name}="[^"]+"', f'{name}="{at(minutes)}"')
    if reason:
        refused(client, xml, reason)
    else:
        assert send(client, xml).status_code == 302


def test_no_text_is_an_internal_error(provider, client):
    location = begin(client)
    xml = provider.answer(location, **GRACE)
    source = random.Random(7)
    texts = ["", "A", "%%%", encoded(""), encoded("<"), encoded("<a/>"), encoded("\0"), "é",
             base64.b64encode(b"\xff\xfe<\0a\0/\0>\0").decode(), encoded("<a>" * 500)]  # fmt: skip
    for _ in range(150):
        start = source.randrange(len(xml))
        cut = (
            xml[:start]
            + source.choice(["", "<", ">", '"', "a", "&#0;"])
            + xml[start + source.randrange(9) :]
        )
        texts.append(encoded(cut))
    for text in texts:
        answer = client.post(ACS, {"SAMLResponse": text})
        # A change outside of the assertion may change nothing.
        assert answer.status_code == 401 or whoami(client) == "grace", text
        if whoami(client):
            client.post("/logout")
            begin(client)


def test_a_long_answer_is_not_read(provider, client):
    begin(client)
    assert client.post(ACS, {"SAMLResponse": "A" * 200_001}).status_code == 401
    assert Client().post(ACS, {"SAMLResponse": "A" * 200_001}).status_code == 401
