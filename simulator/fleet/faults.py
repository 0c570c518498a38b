"""Faults of a scenario at their times: cards fall ill, nodes fall silent, drivers die."""

import asyncio
import logging
from collections.abc import Callable

from simulator.fleet.api import Api, ApiError
from simulator.fleet.clock import Clock
from simulator.fleet.kubelet import Kubelet
from simulator.fleet.scenario import Fault
from simulator.fleet.troubles import Trouble

log = logging.getLogger("fleet")

_ADMIN = "/simulator/faults"
_SOURCE = "scenario"


class Faults:
    """Times count from the start of the process and are not shortened by the speed."""

    def __init__(
        self,
        api: Api,
        faults: tuple[Fault, ...],
        kubelets: dict[str, Kubelet],
        resync: Callable[[str], None],
    ) -> None:
        self._api = api
        self._faults = faults
        self._kubelets = kubelets
        self._resync = resync

    async def run(self) -> None:
        steps: list[tuple[float, int, bool, Fault]] = []
        for number, fault in enumerate(self._faults):
            steps.append((fault.at, number, True, fault))
            if fault.lasts:
                steps.append((fault.at + fault.lasts, number, False, fault))
        began = Clock.monotonic()
        for at, _, begins, fault in sorted(steps, key=lambda step: step[:3]):
            await asyncio.sleep(max(began + at - Clock.monotonic(), 0))
            await self.apply(fault, begins=begins)

    async def apply(self, fault: Fault, *, begins: bool) -> None:
        where = fault.node or "API server"
        log.info("fault %s of %s %s", fault.kind, where, "begins" if begins else "ends")
        if fault.kind == "api":
            await self._api_fault(fault, begins=begins)
            return
        kubelet = self._kubelets[fault.node]
        try:
            await _apply(kubelet, fault, begins=begins)
        except ApiError as error:
            log.warning("fault %s: %s", fault.kind, error)
        if not begins and fault.kind in {"node-silent", "node-removed"}:
            self._resync(fault.node)
        kubelet.poke()

    async def _api_fault(self, fault: Fault, *, begins: bool) -> None:
        """The simulated API server's own faults count down by themselves; a real one has none."""
        if not begins:
            return
        try:
            await self._api.call("POST", _ADMIN, fault.api)
        except ApiError as error:
            log.warning("fault of the API server refused: %s", error)


async def _apply(kubelet: Kubelet, fault: Fault, *, begins: bool) -> None:
    machine = kubelet.machine
    if fault.kind == "node-removed":
        if begins:
            await kubelet.leave()
        else:
            machine.removed = False
        return
    xid = fault.xid if fault.kind == "card-sick" else 0
    trouble = Trouble(fault.kind, fault.card, xid) if "card" in fault.kind else Trouble(fault.kind)
    known = machine.troubles(_SOURCE)
    machine.suffer(_SOURCE, known | {trouble} if begins else known - {trouble})
