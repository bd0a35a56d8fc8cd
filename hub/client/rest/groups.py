"""Every group of operations, as an attribute of a hub."""

# Written by scripts/rest.py.
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from hub.client.rest.access import AccessGroup
    from hub.client.rest.access_requests import AccessRequestsGroup
    from hub.client.rest.alias_rules import AliasRulesGroup
    from hub.client.rest.benchmarks import BenchmarksGroup
    from hub.client.rest.cards import CardsGroup
    from hub.client.rest.collections import CollectionsGroup
    from hub.client.rest.comparisons import ComparisonsGroup
    from hub.client.rest.conformance import ConformanceGroup
    from hub.client.rest.dataset_versions import DatasetVersionsGroup
    from hub.client.rest.datasets import DatasetsGroup
    from hub.client.rest.deleted_models import DeletedModelsGroup
    from hub.client.rest.devices import DevicesGroup
    from hub.client.rest.discussions import DiscussionsGroup
    from hub.client.rest.enrolled_workers import EnrolledWorkersGroup
    from hub.client.rest.environments import EnvironmentsGroup
    from hub.client.rest.evaluations import EvaluationsGroup
    from hub.client.rest.events import EventsGroup
    from hub.client.rest.files import FilesGroup
    from hub.client.rest.fleets import FleetsGroup
    from hub.client.rest.invites import InvitesGroup
    from hub.client.rest.jobs import JobsGroup
    from hub.client.rest.likes import LikesGroup
    from hub.client.rest.members import MembersGroup
    from hub.client.rest.mirrors import MirrorsGroup
    from hub.client.rest.models import ModelsGroup
    from hub.client.rest.names import NamesGroup
    from hub.client.rest.namespaces import NamespacesGroup
    from hub.client.rest.packages import PackagesGroup
    from hub.client.rest.participants import ParticipantsGroup
    from hub.client.rest.pools import PoolsGroup
    from hub.client.rest.publishers import PublishersGroup
    from hub.client.rest.refs import RefsGroup
    from hub.client.rest.refused_cards import RefusedCardsGroup
    from hub.client.rest.rounds import RoundsGroup
    from hub.client.rest.runtimes import RuntimesGroup
    from hub.client.rest.saved_comparisons import SavedComparisonsGroup
    from hub.client.rest.scoreboard import ScoreboardGroup
    from hub.client.rest.security_events import SecurityEventsGroup
    from hub.client.rest.service_accounts import ServiceAccountsGroup
    from hub.client.rest.service_tokens import ServiceTokensGroup
    from hub.client.rest.sessions import SessionsGroup
    from hub.client.rest.signatures import SignaturesGroup
    from hub.client.rest.signers import SignersGroup
    from hub.client.rest.starter import StarterGroup
    from hub.client.rest.tokens import TokensGroup
    from hub.client.rest.trainings import TrainingsGroup
    from hub.client.rest.users import UsersGroup
    from hub.client.rest.variants import VariantsGroup
    from hub.client.rest.versions import VersionsGroup
    from hub.client.rest.watches import WatchesGroup
    from hub.client.rest.webhooks import WebhooksGroup
    from hub.client.rest.workers import WorkersGroup

GROUPS: Final = (
    "access",
    "access_requests",
    "alias_rules",
    "benchmarks",
    "cards",
    "collections",
    "comparisons",
    "conformance",
    "dataset_versions",
    "datasets",
    "devices",
    "deleted_models",
    "discussions",
    "enrolled_workers",
    "environments",
    "events",
    "evaluations",
    "files",
    "fleets",
    "invites",
    "jobs",
    "likes",
    "members",
    "mirrors",
    "models",
    "names",
    "namespaces",
    "packages",
    "participants",
    "pools",
    "refs",
    "refused_cards",
    "rounds",
    "runtimes",
    "saved_comparisons",
    "scoreboard",
    "security_events",
    "sessions",
    "signatures",
    "signers",
    "starter",
    "publishers",
    "service_accounts",
    "service_tokens",
    "tokens",
    "trainings",
    "users",
    "variants",
    "versions",
    "watches",
    "webhooks",
    "workers",
)


def group_class(name: str) -> Any:
    """The class of a group, such as `JobsGroup`; imports its module alone."""
    class_name = "".join(word.capitalize() for word in name.split("_")) + "Group"
    return getattr(import_module(f"hub.client.rest.{name}"), class_name)


class Groups:
    """The groups of a hub; each module is imported at its first use."""

    @property
    def access(self) -> AccessGroup:
        """Operations on access."""
        group: AccessGroup = group_class("access")(self)
        return group

    @property
    def access_requests(self) -> AccessRequestsGroup:
        """Operations on access requests."""
        group: AccessRequestsGroup = group_class("access_requests")(self)
        return group

    @property
    def alias_rules(self) -> AliasRulesGroup:
        """Operations on alias rules."""
        group: AliasRulesGroup = group_class("alias_rules")(self)
        return group

    @property
    def benchmarks(self) -> BenchmarksGroup:
        """Operations on benchmarks."""
        group: BenchmarksGroup = group_class("benchmarks")(self)
        return group

    @property
    def cards(self) -> CardsGroup:
        """Operations on cards."""
        group: CardsGroup = group_class("cards")(self)
        return group

    @property
    def collections(self) -> CollectionsGroup:
        """Operations on collections."""
        group: CollectionsGroup = group_class("collections")(self)
        return group

    @property
    def comparisons(self) -> ComparisonsGroup:
        """Operations on comparisons."""
        group: ComparisonsGroup = group_class("comparisons")(self)
        return group

    @property
    def conformance(self) -> ConformanceGroup:
        """Operations on conformance."""
        group: ConformanceGroup = group_class("conformance")(self)
        return group

    @property
    def dataset_versions(self) -> DatasetVersionsGroup:
        """Operations on dataset versions."""
        group: DatasetVersionsGroup = group_class("dataset_versions")(self)
        return group

    @property
    def datasets(self) -> DatasetsGroup:
        """Operations on datasets."""
        group: DatasetsGroup = group_class("datasets")(self)
        return group

    @property
    def devices(self) -> DevicesGroup:
        """Operations on devices."""
        group: DevicesGroup = group_class("devices")(self)
        return group

    @property
    def deleted_models(self) -> DeletedModelsGroup:
        """Operations on deleted models."""
        group: DeletedModelsGroup = group_class("deleted_models")(self)
        return group

    @property
    def discussions(self) -> DiscussionsGroup:
        """Operations on discussions."""
        group: DiscussionsGroup = group_class("discussions")(self)
        return group

    @property
    def enrolled_workers(self) -> EnrolledWorkersGroup:
        """Operations on enrolled workers."""
        group: EnrolledWorkersGroup = group_class("enrolled_workers")(self)
        return group

    @property
    def environments(self) -> EnvironmentsGroup:
        """Operations on environments."""
        group: EnvironmentsGroup = group_class("environments")(self)
        return group

    @property
    def events(self) -> EventsGroup:
        """Operations on events."""
        group: EventsGroup = group_class("events")(self)
        return group

    @property
    def evaluations(self) -> EvaluationsGroup:
        """Operations on evaluations."""
        group: EvaluationsGroup = group_class("evaluations")(self)
        return group

    @property
    def files(self) -> FilesGroup:
        """Operations on files."""
        group: FilesGroup = group_class("files")(self)
        return group

    @property
    def fleets(self) -> FleetsGroup:
        """Operations on fleets."""
        group: FleetsGroup = group_class("fleets")(self)
        return group

    @property
    def invites(self) -> InvitesGroup:
        """Operations on invites."""
        group: InvitesGroup = group_class("invites")(self)
        return group

    @property
    def jobs(self) -> JobsGroup:
        """Operations on jobs."""
        group: JobsGroup = group_class("jobs")(self)
        return group

    @property
    def likes(self) -> LikesGroup:
        """Operations on likes."""
        group: LikesGroup = group_class("likes")(self)
        return group

    @property
    def members(self) -> MembersGroup:
        """Operations on members."""
        group: MembersGroup = group_class("members")(self)
        return group

    @property
    def mirrors(self) -> MirrorsGroup:
        """Operations on mirrors."""
        group: MirrorsGroup = group_class("mirrors")(self)
        return group

    @property
    def models(self) -> ModelsGroup:
        """Operations on models."""
        group: ModelsGroup = group_class("models")(self)
        return group

    @property
    def names(self) -> NamesGroup:
        """Operations on names."""
        group: NamesGroup = group_class("names")(self)
        return group

    @property
    def namespaces(self) -> NamespacesGroup:
        """Operations on namespaces."""
        group: NamespacesGroup = group_class("namespaces")(self)
        return group

    @property
    def packages(self) -> PackagesGroup:
        """Operations on packages."""
        group: PackagesGroup = group_class("packages")(self)
        return group

    @property
    def participants(self) -> ParticipantsGroup:
        """Operations on participants."""
        group: ParticipantsGroup = group_class("participants")(self)
        return group

    @property
    def pools(self) -> PoolsGroup:
        """Operations on pools."""
        group: PoolsGroup = group_class("pools")(self)
        return group

    @property
    def refs(self) -> RefsGroup:
        """Operations on refs."""
        group: RefsGroup = group_class("refs")(self)
        return group

    @property
    def refused_cards(self) -> RefusedCardsGroup:
        """Operations on refused cards."""
        group: RefusedCardsGroup = group_class("refused_cards")(self)
        return group

    @property
    def rounds(self) -> RoundsGroup:
        """Operations on rounds."""
        group: RoundsGroup = group_class("rounds")(self)
        return group

    @property
    def runtimes(self) -> RuntimesGroup:
        """Operations on runtimes."""
        group: RuntimesGroup = group_class("runtimes")(self)
        return group

    @property
    def saved_comparisons(self) -> SavedComparisonsGroup:
        """Operations on saved comparisons."""
        group: SavedComparisonsGroup = group_class("saved_comparisons")(self)
        return group

    @property
    def scoreboard(self) -> ScoreboardGroup:
        """Operations on scoreboard."""
        group: ScoreboardGroup = group_class("scoreboard")(self)
        return group

    @property
    def security_events(self) -> SecurityEventsGroup:
        """Operations on security events."""
        group: SecurityEventsGroup = group_class("security_events")(self)
        return group

    @property
    def sessions(self) -> SessionsGroup:
        """Operations on sessions."""
        group: SessionsGroup = group_class("sessions")(self)
        return group

    @property
    def signatures(self) -> SignaturesGroup:
        """Operations on signatures."""
        group: SignaturesGroup = group_class("signatures")(self)
        return group

    @property
    def signers(self) -> SignersGroup:
        """Operations on signers."""
        group: SignersGroup = group_class("signers")(self)
        return group

    @property
    def starter(self) -> StarterGroup:
        """Operations on starter."""
        group: StarterGroup = group_class("starter")(self)
        return group

    @property
    def publishers(self) -> PublishersGroup:
        """Operations on publishers."""
        group: PublishersGroup = group_class("publishers")(self)
        return group

    @property
    def service_accounts(self) -> ServiceAccountsGroup:
        """Operations on service accounts."""
        group: ServiceAccountsGroup = group_class("service_accounts")(self)
        return group

    @property
    def service_tokens(self) -> ServiceTokensGroup:
        """Operations on service tokens."""
        group: ServiceTokensGroup = group_class("service_tokens")(self)
        return group

    @property
    def tokens(self) -> TokensGroup:
        """Operations on tokens."""
        group: TokensGroup = group_class("tokens")(self)
        return group

    @property
    def trainings(self) -> TrainingsGroup:
        """Operations on trainings."""
        group: TrainingsGroup = group_class("trainings")(self)
        return group

    @property
    def users(self) -> UsersGroup:
        """Operations on users."""
        group: UsersGroup = group_class("users")(self)
        return group

    @property
    def variants(self) -> VariantsGroup:
        """Operations on variants."""
        group: VariantsGroup = group_class("variants")(self)
        return group

    @property
    def versions(self) -> VersionsGroup:
        """Operations on versions."""
        group: VersionsGroup = group_class("versions")(self)
        return group

    @property
    def watches(self) -> WatchesGroup:
        """Operations on watches."""
        group: WatchesGroup = group_class("watches")(self)
        return group

    @property
    def webhooks(self) -> WebhooksGroup:
        """Operations on webhooks."""
        group: WebhooksGroup = group_class("webhooks")(self)
        return group

    @property
    def workers(self) -> WorkersGroup:
        """Operations on workers."""
        group: WorkersGroup = group_class("workers")(self)
        return group
