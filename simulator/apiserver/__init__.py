"""A simulated Kubernetes API server: TLS, a bearer token, and objects kept in a directory."""

from simulator.apiserver.backends import Call, PodBackend, Reply
from simulator.apiserver.faults import Fault, Faults
from simulator.apiserver.problems import Refused
from simulator.apiserver.server import Options, Server, running

__all__ = [
    "Call",
    "Fault",
    "Faults",
    "Options",
    "PodBackend",
    "Refused",
    "Reply",
    "Server",
    "running",
]
