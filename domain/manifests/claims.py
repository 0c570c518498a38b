"""Claim templates: immutable, so each content has its own name."""

from domain import canonical
from domain.manifests.labels import Manifest, pool_labels
from domain.manifests.spec import Pool, Serving

REQUEST = "devices"


def template_name(serving: Serving, pool: Pool) -> str:
    """The name carries a hash of the content: a changed request never meets an old template."""
    return f"{serving.name}-{pool.name}-{canonical.digest(pool.claim)[:10]}"


def claim_template(serving: Serving, pool: Pool) -> Manifest | None:
    """The ResourceClaimTemplate of a pool; None on the device-plugin path.

    The claims made from it carry the same labels, so that their use can be told apart later.
    """
    if pool.path != "dra":
        return None
    labels = pool_labels(serving.tenant, serving.name, pool.name)
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {
            "name": template_name(serving, pool),
            "namespace": serving.namespace,
            "labels": labels,
        },
        "spec": {"metadata": {"labels": labels}, "spec": dict(pool.claim)},
    }
