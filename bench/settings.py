"""The product's settings, its cache included, with values that the bench sets itself."""

from portal import settings
from portal.settings_test import *  # noqa: F403

CACHES = settings.CACHES
API_READS_PER_MINUTE = 10_000_000  # one caller asks for everything here
