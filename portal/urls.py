from django.contrib.auth import views as auth_views
from django.urls import include, path

from portal import views

urlpatterns = [
    path("healthz", views.healthz, name="healthz"),
    path("readyz", views.readyz, name="readyz"),
    path("csp-report", views.csp_report, name="csp-report"),
    path("login/", auth_views.LoginView.as_view(), name="login"),
    path("login/sso/", include("allauth.socialaccount.providers.openid_connect.urls")),
    path("login/sso/", include("allauth.socialaccount.urls")),
    path("logout/", auth_views.LogoutView.as_view(), name="logout"),
    path("", views.home, name="home"),
]
