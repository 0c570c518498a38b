"""A fleet that behaves: nodes, drivers, kubelets, model servers and traffic as one API client.

It talks to the cluster only through the Kubernetes HTTP API, so the same code drives the simulated
API server and a real control plane. Everything that must survive a restart lives in API objects;
identities that hardware would keep (card uuids, bus addresses) follow from the scenario's seed.
"""
