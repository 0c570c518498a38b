"""Which Gateway carries a deployment's requests, if any."""

from apps.deployments.models import ClusterGateway, Deployment
from apps.inventory.models import Cluster
from domain.gateways import Parent
from domain.manifests import Routing

NEEDED = ("routes", "inference-pools")


def gateway_of(cluster: Cluster) -> ClusterGateway | None:
    """The Gateway that the platform team chose, unless it is off or the cluster lacks the APIs."""
    found = ClusterGateway.objects.filter(cluster=cluster, is_on=True).first()
    if found is None or missing_apis(cluster):
        return None
    return found


def missing_apis(cluster: Cluster) -> list[str]:
    """Codes of kube.features that routing needs and the cluster does not serve."""
    return [code for code in NEEDED if not cluster.features.get(code)]


def is_routed(deployment: Deployment) -> bool:
    """Whether weights are kept by a gateway; otherwise replicas behind one Service share."""
    return gateway_of(deployment.cluster) is not None


def parent_of(gateway: ClusterGateway) -> Parent:
    return Parent(gateway.namespace, gateway.name, gateway.section)


def host_of(deployment: Deployment, gateway: ClusterGateway) -> str:
    return f"{deployment.name}.{deployment.tenant.slug}.{gateway.domain}"


def url_of(deployment: Deployment) -> str:
    """Where it answers from outside the cluster, as last seen; "" without a gateway."""
    seen = deployment.routing
    if not seen.get("host"):
        return ""
    port = seen.get("port")
    return f"http://{seen['host']}{'' if port in (80, None) else f':{port}'}"


def curl_of(deployment: Deployment, path: str) -> str:
    """Works wherever the gateway's address can be reached, also without an entry in DNS."""
    url, seen = url_of(deployment), deployment.routing
    addresses = seen.get("addresses") or []
    if not url or not addresses:
        return f"curl {url}{path}" if url else ""
    port = seen.get("port") or 80
    return f"curl --connect-to ::{addresses[0]}:{port} {url}{path}"


def routing_of(deployment: Deployment) -> Routing | None:
    gateway = gateway_of(deployment.cluster)
    if gateway is None:
        return None
    return Routing(
        gateway_namespace=gateway.namespace,
        gateway_name=gateway.name,
        hostname=host_of(deployment, gateway),
        picker_image=gateway.picker_image,
        failure_mode=gateway.failure_mode,
        section=gateway.section,
        owns_route=not deployment.handed_over,
    )
