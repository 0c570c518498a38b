"""A cluster row to a connection."""

from apps.common import secrets
from apps.inventory.models import Cluster
from kube import client, connect, credentials


def to(cluster: Cluster) -> client.Cluster:
    """A connection with the cluster's own credentials; raises Undecryptable for a lost key."""
    return connect(credentials.load(secrets.unseal(bytes(cluster.credentials))))
