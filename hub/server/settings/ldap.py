"""Sign-in with the passwords of an LDAP directory (the capability `identity`)."""

from importlib.util import find_spec
from pathlib import Path

from hub.server.environment import env
from hub.server.settings.identity import group_roles

# The LDAP server whose passwords sign people in: ldaps://host (TLS from the start), ldap://host
# (StartTLS, never without) or ldap+plain://host (no TLS, for a server on this machine).
HUB_LDAP_SERVER = env.ldap("HUB_LDAP_URL")
# A file of the certificates, as PEM, of which one must have signed the server's; by default those
# of the system.
HUB_LDAP_CA = env.text("HUB_LDAP_CA", default="")
# The entry with which the hub searches, and its password; without it the search is anonymous.
HUB_LDAP_BIND_DN = env.text("HUB_LDAP_BIND_DN", default="")
HUB_LDAP_BIND_PASSWORD = env.text("HUB_LDAP_BIND_PASSWORD", default="")
# The entry below which people are, such as ou=people,dc=example,dc=org.
HUB_LDAP_BASE = env.text("HUB_LDAP_BASE", default="")
# The filter that finds a person by the name that they type, for which {name} stands, escaped.
HUB_LDAP_FILTER = env.text("HUB_LDAP_FILTER", default="(uid={name})")
# The attribute that never changes and is never given again; Active Directory has objectGUID. An
# account belongs to it, never to a name or an address.
HUB_LDAP_ID_ATTRIBUTE = env.text("HUB_LDAP_ID_ATTRIBUTE", default="entryUUID")
# The attributes of which a new account takes its name and its e-mail address.
HUB_LDAP_NAME_ATTRIBUTE = env.text("HUB_LDAP_NAME_ATTRIBUTE", default="uid")
HUB_LDAP_MAIL_ATTRIBUTE = env.text("HUB_LDAP_MAIL_ATTRIBUTE", default="mail")
# What pages call the directory.
HUB_LDAP_NAME = env.text("HUB_LDAP_NAME", default="directory")
# Whether people of the directory get an account when they first sign in.
HUB_LDAP_ACCOUNTS = env.flag("HUB_LDAP_ACCOUNTS", default=True)
# The entry below which groups are, such as ou=groups,dc=example,dc=org. A group is its cn: no one
# may create groups there who may not give its roles.
HUB_LDAP_GROUP_BASE = env.text("HUB_LDAP_GROUP_BASE", default="")
# The filter that finds the groups of a person: {dn} stands for their entry, {name} for their name.
HUB_LDAP_GROUP_FILTER = env.text("HUB_LDAP_GROUP_FILTER", default="(member={dn})")
# Roles that groups of the directory give in namespaces, as HUB_OIDC_GROUPS does.
_groups = env.texts("HUB_LDAP_GROUPS", default=[])
HUB_LDAP_GROUPS = group_roles("HUB_LDAP_GROUPS", _groups)

if HUB_LDAP_SERVER and find_spec("ldap") is None:
    env.refuse(
        "HUB_LDAP_URL",
        "is set, but the package python-ldap is not installed.",
        "Install the hub with its extra: pip install 'onnx-hub[server,ldap]', or unset it.",
    )
if HUB_LDAP_SERVER and not HUB_LDAP_BASE:
    env.refuse(
        "HUB_LDAP_BASE",
        "is not set, but HUB_LDAP_URL is.",
        "Set it to the entry below which people are, such as ou=people,dc=example,dc=org.",
    )
if "{name}" not in HUB_LDAP_FILTER:
    env.refuse(
        "HUB_LDAP_FILTER",
        "has no {name}, so it would find the same person for every name.",
        "Write it as (uid={name}), or (sAMAccountName={name}) for Active Directory.",
    )
if HUB_LDAP_CA and not Path(HUB_LDAP_CA).is_file():
    env.refuse(
        "HUB_LDAP_CA",
        f"is {HUB_LDAP_CA!r}, where there is no file.",
        "Set it to a file of certificates as PEM that the hub may read, or unset it.",
    )
if HUB_LDAP_GROUPS and not HUB_LDAP_GROUP_BASE:
    env.refuse(
        "HUB_LDAP_GROUP_BASE",
        "is not set, but HUB_LDAP_GROUPS is.",
        "Set it to the entry below which groups are, such as ou=groups,dc=example,dc=org.",
    )
