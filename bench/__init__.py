"""Figures: `make bench` prints one JSON line each, against a baseline measured in the same run."""
