"""A simulated Kubernetes cluster: an API server, and a fleet that behaves as one of its clients."""
