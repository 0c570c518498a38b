"""Pods on nodes: the default filters of kube-scheduler around the allocator."""
