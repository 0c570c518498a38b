"""A simulated Kubernetes API server: TLS, a bearer token, and objects kept in a directory.

It stores, checks, fills in, merges, watches and refuses as a real one does; tests/contract holds
both to the same suite. It leaves to a real one: access rules (all is allowed), quotas, admission
policies and webhooks, token volumes of pods, versions other than the preferred one, and whatever
controllers do (garbage collection, namespaces, workloads): on a simulated cluster the fleet does
that.
"""

from simulator.apiserver.backends import Call, PodBackend, Reply
from simulator.apiserver.faults import Fault, Faults
from simulator.apiserver.problems import Refused
from simulator.apiserver.server import InUse, Options, Server, running

__all__ = [
    "Call",
    "Fault",
    "Faults",
    "InUse",
    "Options",
    "PodBackend",
    "Refused",
    "Reply",
    "Server",
    "running",
]
