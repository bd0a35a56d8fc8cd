"""Rows that say who owns what, which bytes, and in which state."""

from registry.models.blobs import Blob
from registry.models.events import Delivery, Event
from registry.models.files import File, Variant
from registry.models.namespaces import Membership, Namespace
from registry.models.refs import Ref
from registry.models.registered_models import RegisteredModel, RetiredName
from registry.models.search import DocumentKeyword, SearchDocument
from registry.models.tokens import AccessToken
from registry.models.uploads import Upload
from registry.models.users import User
from registry.models.versions import Check, Version

__all__ = [
    "AccessToken",
    "Blob",
    "Check",
    "Delivery",
    "DocumentKeyword",
    "Event",
    "File",
    "Membership",
    "Namespace",
    "Ref",
    "RegisteredModel",
    "RetiredName",
    "SearchDocument",
    "Upload",
    "User",
    "Variant",
    "Version",
]
