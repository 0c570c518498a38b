"""The product's settings with the few values that tests need otherwise."""

import os

for _name, _value in {
    "SECRET_KEY": "a secret that only the tests know, 0123456789",
    "CREDENTIAL_KEYS": "Y2xhaW15YXJkIHRlc3RzJyBvd24gZmVybmV0IGtleSE=",
    "DATABASE_URL": "postgresql://postgres@127.0.0.1:5432/claimyard",
    "REDIS_URL": "redis://127.0.0.1:6379/0",
    "ALLOWED_HOSTS": "*",
}.items():
    os.environ.setdefault(f"CLAIMYARD_{_name}", _value)

from portal.settings import *  # noqa: E402, F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
CELERY_BROKER_URL = "memory://"
