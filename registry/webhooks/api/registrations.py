"""What webhooks do in the core: they follow events, and act for accounts."""

from __future__ import annotations

from registry.core import outbox
from registry.core.account_uses import AccountUse, account_uses
from registry.core.event_subjects import event_subjects
from registry.core.periodic import HourlyTask, hourly_tasks
from registry.webhooks import services


def register(package: str) -> None:
    """Plug into the ports of the core; every other capability has registered its events before."""
    verbs = tuple(f"{kind}." for subject in event_subjects for kind in subject.kinds)
    outbox.subscribe(services.CONSUMER, verbs, services.on_event, background=True, each=True)
    account_uses.register(package, AccountUse("webhooks", services.of_account))
    hourly_tasks.register(
        package, HourlyTask("webhooks", "Old webhook deliveries deleted", services.delete_old)
    )
