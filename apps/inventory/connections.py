"""From a cluster's row to a connection. Only tasks and workers call this, never a request."""

from collections.abc import Iterator
from contextlib import contextmanager

from apps.common import secrets
from apps.inventory.models import Cluster
from kube import api, client, credentials
from kube.errors import BadCredentials


def to(cluster: Cluster, *, acting_as: str = "") -> client.Cluster:
    """A connection with the cluster's stored credentials; raises BadCredentials."""
    return api.connect(stored(cluster), user_agent="claimyard", acting_as=acting_as)


@contextmanager
def opened(cluster: Cluster, *, acting_as: str = "") -> Iterator[client.Cluster]:
    """A connection that is closed in the end."""
    connection = to(cluster, acting_as=acting_as)
    try:
        yield connection
    finally:
        connection.close()


def stored(cluster: Cluster) -> credentials.Credentials:
    """The credentials of a cluster, opened. They must not leave the calling function."""
    try:
        return credentials.load(secrets.unseal(bytes(cluster.credentials)))
    except secrets.Undecryptable as error:
        raise BadCredentials(
            "undecryptable", f"The stored credentials cannot be opened: {error}. Store new ones."
        ) from None


def sealed(opened: credentials.Credentials) -> bytes:
    """Credentials as they are kept in the row."""
    return secrets.seal(opened.dump())
