"""What kube-controller-manager and kube-scheduler do, as far as the demo and the tests need it.

Started on the simulated cluster only; a real control plane brings its own.
"""

from typing import Protocol

from simulator.fleet.cache import Cluster
from simulator.fleet.clock import Clock
from simulator.fleet.controllers.budgets import Budgets
from simulator.fleet.controllers.claims import Claims
from simulator.fleet.controllers.daemonsets import DaemonSets
from simulator.fleet.controllers.deployments import Deployments
from simulator.fleet.controllers.endpoints import Endpoints
from simulator.fleet.controllers.evictions import DeviceEvictions
from simulator.fleet.controllers.garbage import Garbage
from simulator.fleet.controllers.lifecycle import NodeLifecycle
from simulator.fleet.controllers.namespaces import Namespaces
from simulator.fleet.controllers.replicasets import ReplicaSets
from simulator.fleet.controllers.scheduler import Scheduler
from simulator.fleet.events import Recorder


class Runnable(Protocol):
    async def run(self) -> None: ...


def all_controllers(
    cluster: Cluster, recorder: Recorder, clock: Clock, node_grace: float
) -> list[Runnable]:
    return [
        Deployments(cluster, recorder, clock),
        ReplicaSets(cluster, recorder),
        DaemonSets(cluster, recorder),
        Claims(cluster, recorder),
        Garbage(cluster),
        Budgets(cluster),
        Endpoints(cluster),
        NodeLifecycle(cluster, recorder, clock, node_grace),
        DeviceEvictions(cluster, recorder),
        Namespaces(cluster),
        Scheduler(cluster, recorder),
    ]


__all__ = ["Runnable", "all_controllers"]
