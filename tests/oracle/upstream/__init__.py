"""Upstream's own table of named cases, dumped at test time from the Go module."""
