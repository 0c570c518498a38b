"""What a figure is about: any of pool, deployment, tenant, namespace, model and class."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Scope:
    """Everything given must hold; nothing given is the whole cluster.

    Slugs and names, as the labels of the pods have them: `pool` is the model pool's name and wants
    its `deployment`. `model` is the name that model servers give their model.
    """

    pool: str | None = None
    deployment: str | None = None
    tenant: str | None = None
    namespace: str | None = None
    model: str | None = None
    device_class: str | None = None
    node: str | None = None

    @classmethod
    def of_pool(cls, pool: Any) -> "Scope":
        """The scope of an apps.deployments ModelPool, a higher room's row."""
        return cls(
            pool=pool.name, deployment=pool.deployment.name, tenant=pool.deployment.tenant.slug
        )

    @classmethod
    def of_deployment(cls, deployment: Any) -> "Scope":
        return cls(deployment=deployment.name, tenant=deployment.tenant.slug)

    def __str__(self) -> str:
        named = ((key, getattr(self, key)) for key in self.__slots__)
        return ", ".join(f"{key}={value}" for key, value in named if value) or "the whole cluster"
