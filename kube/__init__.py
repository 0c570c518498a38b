"""The only code that talks to a cluster; it knows no Django."""

from kube.api import connect
from kube.client import Access, Cluster, Item
from kube.credentials import Credentials

__all__ = ["Access", "Cluster", "Credentials", "Item", "connect"]
