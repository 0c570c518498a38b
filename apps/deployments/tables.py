from django.urls import reverse

from apps.common.tables import Column, Table
from apps.deployments.filters import DeploymentFilters
from apps.deployments.models import Deployment
from apps.deployments.selectors import summary_of


def deployment_url(deployment: Deployment) -> str:
    return reverse("deployments:detail", args=[deployment.tenant.slug, deployment.name])


def _replicas(deployment: Deployment) -> str:
    summary = summary_of(deployment)
    return f"{summary.ready} of {summary.wanted}"


def _patterns(deployment: Deployment) -> str:
    return ", ".join(pool.pattern_version.pattern.name for pool in deployment.pools.all())


def _paths(deployment: Deployment) -> str:
    return ", ".join(sorted({pool.get_path_display() for pool in deployment.pools.all()}))


DEPLOYMENTS = Table(
    name="deployments",
    noun=("deployment", "deployments"),
    default_sort="name",
    search=("name", "model", "image"),
    search_hint="Find by name, model or image",
    filters=DeploymentFilters,
    columns=(
        Column(key="name", title="Deployment", sort="name", fixed=True, link=deployment_url),
        Column(
            key="state", title="State", kind="state", value=lambda row: summary_of(row).word.lower()
        ),
        Column(key="ready", title="Ready", value=_replicas),
        Column(key="model", title="Model", value=lambda row: row.model or row.image),
        Column(key="patterns", title="Pattern", value=_patterns),
        Column(key="paths", title="Path", value=_paths),
        Column(key="cluster", title="Cluster", value="cluster__slug"),
        Column(key="why", title="Why", value=lambda row: summary_of(row).message[:160]),
        Column(key="created_at", title="Since", kind="ago"),
        Column(key="image", title="Image", kind="mono", shown=False),
        Column(key="namespace", title="Namespace", kind="mono", shown=False),
    ),
    none_yet=("A deployment is a model that this tenant serves.", "", ""),
)
