"""The product's settings, with values that the bench sets itself."""

from portal.settings_test import *  # noqa: F403

CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
