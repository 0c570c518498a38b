from django.contrib.auth import views as auth_views
from django.urls import include, path

from apps.api import account
from portal import views
from portal.scope import scope_menu

urlpatterns = [
    path("healthz", views.healthz, name="healthz"),
    path("readyz", views.readyz, name="readyz"),
    path("csp-report", views.csp_report, name="csp-report"),
    path("login/", views.Login.as_view(), name="login"),
    path("login/sso/", include("allauth.socialaccount.providers.openid_connect.urls")),
    path("login/sso/", include("allauth.socialaccount.urls")),
    path("logout/", auth_views.LogoutView.as_view(), name="logout"),
    path("account/", account.tokens, name="account"),
    path("account/tokens/<int:token_id>/revoke/", account.revoke, name="account-revoke"),
    path("scope/<slug:kind>/", scope_menu, name="scope"),
    path("audit/", include("apps.audit.urls")),
    path("api/", include("apps.api.urls")),
    path("catalog/", include("apps.catalog.urls")),
    path("tenants/", include("apps.tenancy.urls")),
    path("", include("apps.inventory.urls")),
    path("", include("apps.claims.urls")),
    path("", include("apps.quotas.urls")),
    path("", include("apps.placement.urls")),
    path("", include("apps.deployments.urls")),
    path("", include("apps.rollouts.urls")),
    path("", include("apps.telemetry.urls")),
    path("", include("apps.common.urls")),
    path("", views.home, name="home"),
]

handler400 = "portal.errors.bad_request"
handler403 = "portal.errors.forbidden"
handler404 = "portal.errors.not_found"
handler500 = "portal.errors.server_error"
