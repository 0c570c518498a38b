"""The placement engine beside the upstream allocator: same clusters, same requests, same run.

The Go program gets one core; JSON decoding is outside both timings. Where ours has never seen a
selector, the Go program has not either: both compile it inside the timing.
"""

from bench.placement import asking, features, requests, sequences, whole_fleet

__all__ = ["asking", "features", "requests", "sequences", "whole_fleet"]
