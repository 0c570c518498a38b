"""A deployment as Kubernetes objects: same spec in, same objects out, in apply order."""

from domain.manifests.claims import claim_template
from domain.manifests.labels import Manifest, pool_labels, selector_of
from domain.manifests.routing import pool_objects, route
from domain.manifests.runtimes import OwnImage, parallel_args, preset
from domain.manifests.spec import Drain, Env, Pool, Probe, Routing, Server, Serving
from domain.manifests.workloads import disruption_budget, endpoint, workload

__all__ = [
    "Drain",
    "Env",
    "Manifest",
    "OwnImage",
    "Pool",
    "Probe",
    "Routing",
    "Server",
    "Serving",
    "claim_template",
    "parallel_args",
    "pool_labels",
    "preset",
    "render",
    "selector_of",
    "workload",
]


def render(serving: Serving) -> list[Manifest]:
    """Everything a deployment needs in its namespace, in apply order."""
    found: list[Manifest] = []
    for pool in serving.pools:
        template = claim_template(serving, pool)
        if template is not None:
            found.append(template)
        found.append(workload(serving, pool))
        found.append(disruption_budget(serving, pool))
        if serving.routing is not None:
            found += pool_objects(serving, pool, serving.routing)
    found.append(endpoint(serving))
    if serving.routing is not None and serving.routing.owns_route:
        found.append(route(serving, serving.routing))
    return found
