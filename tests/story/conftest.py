"""The people of the rooms' tests."""

from tests.apps.conftest import admin, alice, approver, tenant

__all__ = ["admin", "alice", "approver", "tenant"]
