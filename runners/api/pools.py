"""Pools of the hub, for administrators: list, pause, drain and resume them."""

from __future__ import annotations

from registry.api.inputs import Input
from registry.api.operations import View, operation, resource, rows
from registry.api.outputs import Column, Columns, Output
from runners.models import HoldState, PoolHold
from runners.queue import selectors, services


class PoolHoldInput(Input):
    """Why a pool is to hand out no job."""

    columns = Columns(Column("reason", help_text="shown with the jobs that wait"), of=PoolHold)


class PoolOutput(Output[selectors.PoolStatus]):
    """A pool with the numbers of its jobs and of its live workers."""

    columns = Columns(
        "name",
        Column(
            "state",
            help_text="open, or hands out no job: paused, draining (jobs run still) or drained",
        ),
        "queued",
        "running",
        "workers",
        "reason",
        Column("since", help_text="since when it hands out no job"),
    )


class Pools(View):
    """The pools of the hub."""

    targets = ("pool",)
    pool = resource(selectors.pool, "name")

    index = rows(
        "pools_list",
        selectors.pools_of_hub,
        "List pools with their state and numbers of jobs and workers; for administrators.",
        PoolOutput,
        targets=(),
    )

    @operation("pools_pause", PoolOutput, reads=PoolHoldInput, body_optional=True)
    def pause(self, reason: str) -> selectors.PoolStatus:
        """Pause a pool: it hands out no job until it is resumed; for administrators.

        Running jobs go on, and jobs can be queued.
        """
        return self._hold(HoldState.PAUSED, reason)

    @operation("pools_drain", PoolOutput, reads=PoolHoldInput, body_optional=True)
    def drain(self, reason: str) -> selectors.PoolStatus:
        """Drain a pool, so that its workers can be stopped; for administrators.

        It hands out no job, and is drained when its running jobs have ended.
        """
        return self._hold(HoldState.DRAINING, reason)

    @operation("pools_resume", PoolOutput)
    def resume(self) -> selectors.PoolStatus:
        """Let a pool hand out jobs again; for administrators."""
        services.resume(self.request.user, pool=self.pool.name)
        return selectors.pool(self.request.user, self.pool.name)

    def _hold(self, state: HoldState, reason: str) -> selectors.PoolStatus:
        services.hold(self.request.user, pool=self.pool.name, state=state, reason=reason)
        return selectors.pool(self.request.user, self.pool.name)
