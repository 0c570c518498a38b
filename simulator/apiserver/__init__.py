"""A simulated Kubernetes API server, on TLS with a bearer token, that keeps its objects in a directory."""

from simulator.apiserver.backends import NoBackend, PodBackend
from simulator.apiserver.faults import Fault, Faults
from simulator.apiserver.problems import Refused
from simulator.apiserver.server import Options, Server, running

__all__ = [
    "Fault",
    "Faults",
    "NoBackend",
    "Options",
    "PodBackend",
    "Refused",
    "Server",
    "running",
]
