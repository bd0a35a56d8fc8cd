"""Sign-in with a SAML 2.0 identity provider (the capability `identity`)."""

from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from hub.server.environment import env
from hub.server.settings.identity import FORM_TARGETS as _OIDC_TARGETS
from hub.server.settings.identity import group_roles

# The SAML identity provider with which people sign in: its entity ID, as its metadata has it. The
# hub's own metadata are /login/with/saml/metadata of HUB_PUBLIC_URL, which is its entity ID too.
HUB_SAML_ISSUER = env.text("HUB_SAML_ISSUER", default="")
# The provider's address for sign-in (SingleSignOnService, HTTP-Redirect).
HUB_SAML_URL = env.text("HUB_SAML_URL", default="")
# A file of the certificates, as PEM, with one of which the provider signs its assertions.
HUB_SAML_CERTIFICATES = env.text("HUB_SAML_CERTIFICATES", default="")
# What the button of the provider is called on pages.
HUB_SAML_NAME = env.text("HUB_SAML_NAME", default="single sign-on")
# Whether people of the provider get an account when they first sign in.
HUB_SAML_ACCOUNTS = env.flag("HUB_SAML_ACCOUNTS", default=True)
# The attribute that never changes and is never given again; by default the NameID of the subject.
# An account belongs to it, never to a name or an address.
HUB_SAML_ID_ATTRIBUTE = env.text("HUB_SAML_ID_ATTRIBUTE", default="")
# The attributes of which a new account takes its name and its e-mail address.
HUB_SAML_NAME_ATTRIBUTE = env.text("HUB_SAML_NAME_ATTRIBUTE", default="username")
HUB_SAML_MAIL_ATTRIBUTE = env.text("HUB_SAML_MAIL_ATTRIBUTE", default="email")
# The attribute that lists the groups of a user.
HUB_SAML_GROUPS_ATTRIBUTE = env.text("HUB_SAML_GROUPS_ATTRIBUTE", default="groups")
# Roles that groups of the provider give in namespaces, as HUB_OIDC_GROUPS does.
_groups = env.texts("HUB_SAML_GROUPS", default=[])
HUB_SAML_GROUPS = group_roles("HUB_SAML_GROUPS", _groups)

_provider = urlsplit(HUB_SAML_URL)
_is_local = _provider.hostname in ("localhost", "127.0.0.1", "::1")
if HUB_SAML_ISSUER and find_spec("onelogin") is None:
    env.refuse(
        "HUB_SAML_ISSUER",
        "is set, but the package python3-saml is not installed.",
        "Install the hub with its extra: pip install 'onnx-hub[server,saml]', or unset it.",
    )
if HUB_SAML_ISSUER and not (
    _provider.hostname
    and (_provider.scheme == "https" or (_provider.scheme == "http" and _is_local))
):
    env.refuse(
        "HUB_SAML_URL",
        f"is {HUB_SAML_URL!r}, which is no https URL, but HUB_SAML_ISSUER is set.",
        "Set it to the SingleSignOnService (HTTP-Redirect) of your provider's metadata.",
    )
if HUB_SAML_ISSUER and not Path(HUB_SAML_CERTIFICATES).is_file():
    env.refuse(
        "HUB_SAML_CERTIFICATES",
        "names no file, but HUB_SAML_ISSUER is set.",
        "Set it to a file with the signing certificate of your provider's metadata, as PEM.",
    )
# Where forms that begin a sign-in may lead, as the Content-Security-Policy says.
FORM_TARGETS = [
    *_OIDC_TARGETS,
    *([f"{_provider.scheme}://{_provider.netloc}"] if HUB_SAML_ISSUER else []),
]
