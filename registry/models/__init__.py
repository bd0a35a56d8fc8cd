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
from registry.models.interest import Like, Watch, WatchDigest
from registry.models.invitations import Invitation
from registry.models.mentions import Mention, NameConfirmation
from registry.models.mirrors import Mirror, MirroredModel, MirroredVersion, SourceHead
from registry.models.namespaces import Membership, Namespace
from registry.models.operations import Lease, MaintenanceMode, PeriodicTask, WorkTotal
from registry.models.refs import AliasRule, Ref, RetiredTag
from registry.models.refused_cards import RefusedCard
from registry.models.registered_models import RegisteredModel, RetiredName
from registry.models.saved_comparisons import ComparedReference, SavedComparison
from registry.models.search import (
    DocumentAccuracy,
    DocumentFacets,
    DocumentFact,
    DocumentKeyword,
    DocumentSpeed,
    PredictedSpeed,
    SearchDocument,
)
from registry.models.tokens import AccessToken, TokenLimit
from registry.models.uploads import Reservation, Upload
from registry.models.usage import DownloadCount, DownloadWeek
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
    "ComparedReference",
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
    "DownloadWeek",
    "DraftKey",
    "Event",
    "File",
    "Invitation",
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
    "SavedComparison",
    "SearchDocument",
    "SourceHead",
    "TokenLimit",
    "Upload",
    "User",
    "Variant",
    "Version",
    "Watch",
    "WatchDigest",
    "WorkTotal",
    "XetStore",
    "Xorb",
    "XorbPart",
]
