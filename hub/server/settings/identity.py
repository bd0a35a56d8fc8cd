"""Sign-up, mail, and how people sign in, by django-allauth (the capability `identity`)."""

from email.utils import parseaddr
from typing import NamedTuple
from urllib.parse import urlsplit

from hub.server.environment import env
from hub.server.settings.environment import HUB_PUBLIC_URL

_ROLES = ("reader", "writer", "maintainer", "owner")

# Who may make an account: administrators alone (closed), people with an invitation
# (invitation), with an e-mail address of HUB_SIGN_UP_DOMAINS (domain), or anyone (open). All but
# closed need HUB_MAIL_URL.
HUB_SIGN_UP = env.choice(
    "HUB_SIGN_UP", default="closed", choices=("closed", "invitation", "domain", "open")
)
# Domains of e-mail addresses with which people make their own accounts, such as example.org.
HUB_SIGN_UP_DOMAINS = [
    name.strip().lower() for name in env.texts("HUB_SIGN_UP_DOMAINS", default=[])
]
# The SMTP server that takes mail: smtp://user:password@host:587 (STARTTLS), smtps:// (TLS from the
# start) or smtp+plain:// (no TLS, for a server on this machine). Without it the hub sends no mail.
HUB_MAIL_SERVER = env.mail("HUB_MAIL_URL")
# The sender of mail.
HUB_MAIL_FROM = env.text(
    "HUB_MAIL_FROM", default=f"hub@{urlsplit(HUB_PUBLIC_URL).hostname or 'localhost'}"
)
# Mails that one address may be sent, and that may be asked for from one network address: links to
# sign up, to set a new password and to confirm an address.
HUB_LIMITS_MAIL_RATE = env.rate("HUB_LIMITS_MAIL_RATE", default="5/hour")

# Days after its last use at which a session ends.
HUB_SESSION_IDLE_DAYS = env.integer("HUB_SESSION_IDLE_DAYS", default=14, least=1)
# Days after sign-in at which a session ends, however often it is used.
HUB_SESSION_DAYS = env.integer("HUB_SESSION_DAYS", default=90, least=1)
SESSION_COOKIE_AGE = 86_400 * HUB_SESSION_DAYS

if HUB_MAIL_SERVER:
    EMAIL_HOST, EMAIL_PORT = HUB_MAIL_SERVER.host, HUB_MAIL_SERVER.port
    EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = HUB_MAIL_SERVER.user, HUB_MAIL_SERVER.password
    EMAIL_USE_TLS = HUB_MAIL_SERVER.scheme == "smtp"
    EMAIL_USE_SSL = HUB_MAIL_SERVER.scheme == "smtps"
EMAIL_TIMEOUT = 5
DEFAULT_FROM_EMAIL = SERVER_EMAIL = HUB_MAIL_FROM
if "@" not in parseaddr(HUB_MAIL_FROM)[1]:
    env.refuse("HUB_MAIL_FROM", "is no e-mail address.", "Write it as hub@example.org.")
if HUB_SIGN_UP != "closed" and HUB_MAIL_SERVER is None:
    env.refuse(
        "HUB_SIGN_UP",
        f"is {HUB_SIGN_UP}, which sends mail, but HUB_MAIL_URL is not set.",
        "Set HUB_MAIL_URL to an SMTP server, or unset HUB_SIGN_UP.",
    )
if HUB_SIGN_UP == "domain" and not HUB_SIGN_UP_DOMAINS:
    env.refuse(
        "HUB_SIGN_UP_DOMAINS",
        "is empty, but HUB_SIGN_UP is domain.",
        "Set it to the domains of your e-mail addresses, or choose another HUB_SIGN_UP.",
    )

# The OpenID provider with which people sign in, such as https://id.example.org/realms/main. Its
# redirect URI is /login/with/oidc/callback of HUB_PUBLIC_URL.
HUB_OIDC_ISSUER = env.text("HUB_OIDC_ISSUER", default="").rstrip("/")
# The name and the secret that the provider gave this hub.
HUB_OIDC_CLIENT_ID = env.text("HUB_OIDC_CLIENT_ID", default="")
HUB_OIDC_CLIENT_SECRET = env.text("HUB_OIDC_CLIENT_SECRET", default="")
# What the button of the provider is called on pages.
HUB_OIDC_NAME = env.text("HUB_OIDC_NAME", default="single sign-on")
# Whether people of the provider get an account when they first sign in.
HUB_OIDC_ACCOUNTS = env.flag("HUB_OIDC_ACCOUNTS", default=True)
# The claim that lists the groups of a user.
HUB_OIDC_GROUPS_CLAIM = env.text("HUB_OIDC_GROUPS_CLAIM", default="groups")


class GroupRole(NamedTuple):
    """A role in a namespace for the members of a group of the provider."""

    group: str
    namespace: str
    role: str


def group_roles(name: str, texts: list[str]) -> list[GroupRole]:
    """The roles that a variable gives to groups."""
    rows = []
    for text in texts:
        group, _, target = text.strip().rpartition("=")
        namespace, _, role = target.rpartition(":")
        if group and namespace and role in _ROLES:
            rows.append(GroupRole(group, namespace, role))
            continue
        env.refuse(
            name,
            f"has {text!r}, which is no role of a group.",
            "Write it as group=namespace:role, with the role reader, writer, maintainer or owner.",
        )
    return rows


# Roles that groups of the provider give in namespaces, such as chemists=lab:maintainer. In the
# namespaces that it names, each sign-in gives and takes the roles of the user, and so does each
# change of a group over SCIM.
_groups = env.texts("HUB_OIDC_GROUPS", default=[])
HUB_OIDC_GROUPS = group_roles("HUB_OIDC_GROUPS", _groups)
_issuer = urlsplit(HUB_OIDC_ISSUER)
_is_local = _issuer.hostname in ("localhost", "127.0.0.1", "::1")
if HUB_OIDC_ISSUER and not (_issuer.hostname and (_issuer.scheme == "https" or _is_local)):
    env.refuse(
        "HUB_OIDC_ISSUER",
        f"is {HUB_OIDC_ISSUER!r}, which is no https URL.",
        "Set it to the issuer that your provider names, or unset it.",
    )
if HUB_OIDC_ISSUER and not HUB_OIDC_CLIENT_ID:
    env.refuse(
        "HUB_OIDC_CLIENT_ID",
        "is not set, but HUB_OIDC_ISSUER is.",
        "Register the hub with the provider and set what it gives you.",
    )
# Where the form that begins such a sign-in may lead, as its Content-Security-Policy says.
FORM_TARGETS = [f"{_issuer.scheme}://{_issuer.netloc}"] if HUB_OIDC_ISSUER else []
SOCIALACCOUNT_ADAPTER = "frontend.pages.identity.providers.ProviderAdapter"
SOCIALACCOUNT_EMAIL_VERIFICATION = "none"
SOCIALACCOUNT_EMAIL_REQUIRED = False

# Who must have a second factor before anything else: administrator (of the hub), and the roles
# owner, maintainer, writer and reader in organisations, between commas.
HUB_SECOND_FACTOR_ROLES = env.texts("HUB_SECOND_FACTOR_ROLES", default=[])
if _unknown := set(HUB_SECOND_FACTOR_ROLES) - {"administrator", *_ROLES}:
    env.refuse(
        "HUB_SECOND_FACTOR_ROLES",
        f"has {min(_unknown)!r}, which is no role.",
        f"Choose from administrator, {', '.join(_ROLES)}.",
    )

MFA_ADAPTER = "frontend.pages.identity.factors.FactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_FORMS = {
    "authenticate": "frontend.pages.identity.factors.CodeForm",
    "reauthenticate": "frontend.pages.identity.factors.ConfirmForm",
}
MFA_ALLOW_UNVERIFIED_EMAIL = True
# Browsers offer passkeys on https and on localhost alone; the library allows https alone.
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = urlsplit(HUB_PUBLIC_URL).scheme == "http"

ACCOUNT_ADAPTER = "frontend.pages.identity.adapters.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "username*", "password1*", "password2*"]
# Accounts are made once their address is confirmed; see registry.identity.invitations.
ACCOUNT_EMAIL_VERIFICATION = "optional"
ACCOUNT_CHANGE_EMAIL = True
ACCOUNT_REAUTHENTICATION_REQUIRED = True
# By a password or a second factor; the hub has no pages for codes by mail.
ACCOUNT_REAUTHENTICATION_METHODS = ["password", "mfa"]
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_PRESERVE_USERNAME_CASING = True
ACCOUNT_LOGOUT_ON_PASSWORD_CHANGE = False
# Each page counts by registry.core.rates, as decision 35 says, and by nothing else.
ACCOUNT_RATE_LIMITS = False
