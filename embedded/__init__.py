"""Starts what a demo and the tests need instead of installed services; no Django here."""
