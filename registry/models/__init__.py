"""Rows that say who owns what, which bytes, and in which state."""

from registry.models.access import AccessRequest
from registry.models.backups import Backup
from registry.models.blobs import Blob, BlobCheck
from registry.models.collections import Collection, CollectionEntry
from registry.models.commits import Branch, Commit, CommitFile
from registry.models.datasets import Dataset, DatasetFile, DatasetVersion
from registry.models.deprecations import Deprecation
from registry.models.discussions import Comment, Discussion, DiscussionCount
from registry.models.events import Delivery, Event
from registry.models.files import File, Variant
from registry.models.interest import Like, Watch
from registry.models.mentions import Mention, NameConfirmation
from registry.models.mirrors import Mirror, MirroredModel, MirroredVersion
from registry.models.namespaces import Membership, Namespace
from registry.models.operations import Lease, MaintenanceMode, PeriodicTask, WorkTotal
from registry.models.refs import AliasRule, Ref, RetiredTag
from registry.models.refused_cards import RefusedCard
from registry.models.registered_models import RegisteredModel, RetiredName
from registry.models.search import (
    DocumentAccuracy,
    DocumentFacets,
    DocumentFact,
    DocumentKeyword,
    DocumentSpeed,
    PredictedSpeed,
    SearchDocument,
)
from registry.models.tokens import AccessToken
from registry.models.uploads import Reservation, Upload
from registry.models.usage import DownloadCount
from registry.models.users import User
from registry.models.versions import Check, DraftKey, Version
from registry.models.xet import XetStore, Xorb, XorbPart

__all__ = [
    "AccessRequest",
    "AccessToken",
    "AliasRule",
    "Backup",
    "Blob",
    "BlobCheck",
    "Branch",
    "Check",
    "Collection",
    "CollectionEntry",
    "Comment",
    "Commit",
    "CommitFile",
    "Dataset",
    "DatasetFile",
    "DatasetVersion",
    "Delivery",
    "Deprecation",
    "Discussion",
    "DiscussionCount",
    "DocumentAccuracy",
    "DocumentFacets",
    "DocumentFact",
    "DocumentKeyword",
    "DocumentSpeed",
    "DownloadCount",
    "DraftKey",
    "Event",
    "File",
    "Lease",
    "Like",
    "MaintenanceMode",
    "Membership",
    "Mention",
    "Mirror",
    "MirroredModel",
    "MirroredVersion",
    "NameConfirmation",
    "Namespace",
    "PeriodicTask",
    "PredictedSpeed",
    "Ref",
    "RefusedCard",
    "RegisteredModel",
    "Reservation",
    "RetiredName",
    "RetiredTag",
    "SearchDocument",
    "Upload",
    "User",
    "Variant",
    "Version",
    "Watch",
    "WorkTotal",
    "XetStore",
    "Xorb",
    "XorbPart",
]
