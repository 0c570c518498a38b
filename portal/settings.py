"""Every setting of the portal. Values come from the environment, see portal.env.

There is one set of settings: what runs in production runs in `make demo` and in the tests.
"""

from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import structlog
from django.utils.csp import CSP

from portal import env

BASE_DIR = Path(__file__).resolve().parents[1]

# --- Identity -------------------------------------------------------------------------------
SECRET_KEY = env.secret(
    "SECRET_KEY", None, "signs sessions and one-time links; at least 32 random characters"
)
SECRET_KEY_FALLBACKS = env.secrets(
    "SECRET_KEY_FALLBACKS", "", "earlier secret keys that are still accepted, newest first"
)
CREDENTIAL_KEYS = env.secrets(
    "CREDENTIAL_KEYS",
    None,
    "Fernet keys for cluster credentials, comma separated; the first encrypts, all decrypt",
)
EVIDENCE_KEY = env.key(
    "EVIDENCE_KEY", "Ed25519 key (32 bytes, base64) that signs migrations' evidence; none: derived"
)
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]", "host names it answers to")
PUBLIC_URL = env.text(
    "PUBLIC_URL", "http://localhost:8000", "the address people use, without a final slash"
)
DEBUG = False

# --- Behind TLS -----------------------------------------------------------------------------
IS_TLS = PUBLIC_URL.startswith("https://")
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = IS_TLS
SESSION_COOKIE_AGE = 60 * env.number("SESSION_MINUTES", 720, "minutes a login lasts", least=5)
SECURE_SSL_REDIRECT = False  # the proxy's business; health checks come without TLS
SECURE_HSTS_SECONDS = 31_536_000 if IS_TLS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = IS_TLS
SECURE_HSTS_PRELOAD = False
if env.flag("TRUST_PROXY", False, "believe X-Forwarded-Proto and -Host of the proxy in front"):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    USE_X_FORWARDED_HOST = True
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SECURE_CSP: dict[str, list[str]] = {
    "default-src": [CSP.NONE],
    "script-src": [CSP.SELF],
    "style-src": [CSP.SELF],
    "img-src": [CSP.SELF, "data:"],
    "font-src": [CSP.SELF],
    "connect-src": [CSP.SELF],
    "form-action": [CSP.SELF],
    "base-uri": [CSP.NONE],
    "frame-ancestors": [CSP.NONE],
    "report-uri": ["/csp-report"],
}
# Silenced: the proxy redirects to TLS, and preloading a domain is its owner's decision.
SILENCED_SYSTEM_CHECKS = ["security.W008", "security.W021"]

# --- Django ---------------------------------------------------------------------------------
ROOT_URLCONF = "portal.urls"
WSGI_APPLICATION = "portal.wsgi.application"
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.humanize",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django_htmx",
    "django_filters",
    "axes",
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "rest_framework",
    "drf_spectacular",
    "apps.common",
    "apps.audit",
    "apps.tenancy",
    "apps.inventory",
    "apps.catalog",
    "apps.claims",
    "apps.telemetry",
    "apps.quotas",
    "apps.placement",
    "apps.deployments",
    "apps.rollouts",
    "apps.api",
]
MIDDLEWARE = [
    "apps.common.requests.RequestIdMiddleware",
    "apps.common.requests.RefuseNulMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "apps.common.htmx.LoginRedirectMiddleware",
    "axes.middleware.AxesMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.csp",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "portal.navigation.context",
            ],
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    [
                        "django.template.loaders.filesystem.Loader",
                        "django.template.loaders.app_directories.Loader",
                    ],
                )
            ],
            "builtins": ["apps.common.templatetags.ui"],
        },
    }
]
DATABASES = {
    "default": {
        **env.database(
            "DATABASE_URL", None, "PostgreSQL as the app's role, which cannot change audit rows"
        ),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "ATOMIC_REQUESTS": False,
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "tenancy.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
CSRF_FAILURE_VIEW = "portal.errors.csrf_refused"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"
# Guessing is slowed down per name and address, so that nobody can lock somebody else out.
AXES_FAILURE_LIMIT = env.number("LOGIN_FAILURES", 10, "wrong passwords before a wait", least=1)
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_LOCKOUT_TEMPLATE = "registration/locked.html"
AXES_RESET_ON_SUCCESS = True
AXES_VERBOSE = False
OIDC_ISSUER = env.text(
    "OIDC_ISSUER", "", "address of the OpenID provider; empty: local logins only"
)
OIDC_NAME = env.text(
    "OIDC_NAME", "Single sign-on", "what the login button says after 'Log in with'"
)
OIDC_GROUPS_CLAIM = env.text(
    "OIDC_GROUPS_CLAIM", "groups", "the claim that lists a person's groups"
)
OIDC_CLUSTER_GROUPS_PREFIX = env.text(
    "OIDC_CLUSTER_GROUPS_PREFIX",
    "",
    "what clusters that trust the same provider put before a group's name",
)
OIDC_ROLES = env.words(
    "OIDC_ROLES",
    "",
    "what a group gives: group=admin, group=approver, group=auditor or group=tenant:TENANT:ROLE",
)
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {
        "OAUTH_PKCE_ENABLED": True,
        "APPS": [
            {
                "provider_id": "sso",
                "name": OIDC_NAME,
                "client_id": env.text("OIDC_CLIENT_ID", "", "the portal's client id there"),
                "secret": env.secret("OIDC_CLIENT_SECRET", "-", "the portal's client secret there"),
                "settings": {"server_url": OIDC_ISSUER},
            }
        ]
        if OIDC_ISSUER
        else [],
    }
}
if OIDC_ISSUER:
    # The login form's answer leads there, and browsers hold redirects of forms to this too.
    SECURE_CSP["form-action"].append("{0.scheme}://{0.netloc}".format(urlsplit(OIDC_ISSUER)))
SOCIALACCOUNT_ADAPTER = "apps.tenancy.oidc.Adapter"
ACCOUNT_ADAPTER = "apps.tenancy.oidc.NoSignup"
SOCIALACCOUNT_AUTO_SIGNUP = True
SOCIALACCOUNT_EMAIL_VERIFICATION = ACCOUNT_EMAIL_VERIFICATION = "none"
SOCIALACCOUNT_STORE_TOKENS = False
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
    )
]
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
USE_I18N = True
STATIC_URL = "/static/"
STATIC_ROOT = env.text("STATIC_ROOT", "", "collectstatic's folder; empty: served in place")
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if STATIC_ROOT
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = not STATIC_ROOT
WHITENOISE_AUTOREFRESH = False
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 2**20

# --- Broker and cache -----------------------------------------------------------------------
REDIS_URL = env.secret("REDIS_URL", None, "Redis or Valkey, redis://host:port/0; may be wiped")
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "claimyard",
        # A page does without a cache that does not answer, rather than wait for it.
        "OPTIONS": {"socket_connect_timeout": 1, "socket_timeout": 1},
    }
}
CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_MAX_MEMORY_PER_CHILD = 400_000  # KiB; CEL callbacks leak a little per evaluation
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 300, "socket_timeout": 10}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TIMEZONE = "UTC"
CELERY_REDBEAT_REDIS_URL = REDIS_URL
CELERY_REDBEAT_LOCK_TIMEOUT = 20

# --- The portal's own -----------------------------------------------------------------------
STALE_AFTER_SECONDS = env.number(
    "STALE_AFTER_SECONDS", 60, "a cluster not heard of for so long is shown as stale", least=5
)
METRICS_TOKENS = env.secrets(
    "METRICS_TOKENS", "", "bearer tokens that may read /metrics; without any there is no such page"
)
ASK_WAIT_MS = env.number(
    "ASK_WAIT_MS", 400, "milliseconds a page waits for an answer before it polls"
)
WEBHOOK_INTERNAL_HOSTS = env.words(
    "WEBHOOK_INTERNAL_HOSTS", "", "hosts inside the own network that webhooks may call"
)
AUTH_DEMO_LOGINS = env.flag(
    "DEMO_LOGINS", False, "name the demo's logins on the login page; never in production"
)
PLACEMENT_MEMORY_MIB = env.number(
    "PLACEMENT_MEMORY_MIB", 1024, "the placement worker restarts above this", least=64
)

# --- REST -----------------------------------------------------------------------------------
API_READS_PER_MINUTE = env.number(
    "API_READS_PER_MINUTE", 1200, "reading API requests a minute for each token or person", least=1
)
API_WRITES_PER_MINUTE = env.number(
    "API_WRITES_PER_MINUTE", 120, "writing API requests a minute for each token or person", least=1
)
REST_FRAMEWORK = {
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "EXCEPTION_HANDLER": "apps.api.errors.handle",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Claimyard",
    "DESCRIPTION": "Everything that a page can do.",
    "VERSION": "v1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {
        "MigrationStateEnum": "apps.rollouts.words.State",
        "MigrationScopeKindEnum": ["tenant", "resource", "node-pool"],
        "StudyKindEnum": "apps.rollouts.models.Study.Kind",
        "FigureStateEnum": "apps.api.series.STATES",
        "MetricsSourceKindEnum": "apps.telemetry.models.MetricsSource.Kind",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "apps.api.schema.complete",
    ],
}

# --- Logs: one line an event, JSON where a machine reads them --------------------------------
LOG_JSON = env.flag("LOG_JSON", False, "log JSON lines instead of text")
LOG_LEVEL = env.text("LOG_LEVEL", "INFO", "DEBUG, INFO, WARNING or ERROR")
if LOG_LEVEL not in ("DEBUG", "INFO", "WARNING", "ERROR"):
    raise env.BadSetting("LOG_LEVEL", f"is {LOG_LEVEL!r}; use DEBUG, INFO, WARNING or ERROR")
_SHARED_PROCESSORS: list[structlog.typing.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]
structlog.configure(
    processors=[*_SHARED_PROCESSORS, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
    logger_factory=structlog.stdlib.LoggerFactory(),
    wrapper_class=structlog.stdlib.BoundLogger,
    cache_logger_on_first_use=True,
)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "event": {
            "()": structlog.stdlib.ProcessorFormatter,
            "foreign_pre_chain": _SHARED_PROCESSORS,
            "processor": structlog.processors.JSONRenderer()
            if LOG_JSON
            else structlog.dev.ConsoleRenderer(
                colors=False, exception_formatter=structlog.dev.plain_traceback
            ),
        }
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "event"}},
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {
        "django.request": {"level": "ERROR"},
        "kombu": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.app.trace": {"level": "WARNING"},
    },
}
