from __future__ import annotations

from django.apps import AppConfig


class RegistryConfig(AppConfig):
    name = "registry"

    def ready(self) -> None:
        from registry.catalogue import documents  # noqa: PLC0415 - models must be loaded first
        from registry.core import event_subjects  # noqa: PLC0415
        from registry.core.account_uses import AccountUse, account_uses  # noqa: PLC0415
        from registry.core.required_actions import (  # noqa: PLC0415
            RequiredAction,
            required_actions,
        )
        from registry.datasets import selectors  # noqa: PLC0415
        from registry.people.services import tokens  # noqa: PLC0415
        from registry.storage.holders import Holder, holders  # noqa: PLC0415
        from registry.versions import results  # noqa: PLC0415
        from registry.versions.dependents import VersionUse, names_of, version_uses  # noqa: PLC0415

        documents.connect()
        account_uses.register(self.name, AccountUse("tokens", tokens.of_account))
        required_actions.register(
            self.name,
            RequiredAction(
                lambda user: user.must_change_password,
                page="password",
                words="Change your password first, on the page Account, Password of the hub.",
            ),
        )
        results.result_kinds.register(self.name, results.CHECKS)
        version_uses.register(self.name, VersionUse("names", names_of))
        event_subjects.event_subjects.register(
            self.name,
            event_subjects.EventSubject(("model",), event_subjects.describe_model),
            event_subjects.EventSubject(
                ("version", "variant"),
                event_subjects.describe_version,
                silent=("counted", "deleted"),
            ),
            event_subjects.EventSubject(("alias", "branch", "tag"), event_subjects.describe_ref),
            event_subjects.EventSubject(
                ("dataset",), selectors.describe, namespace=selectors.namespace_of
            ),
        )
        holders.register("registry.datasets", Holder(selectors.holding, selectors.size))
