from django.urls import path

from apps.quotas import views

app_name = "quotas"
urlpatterns = [
    path("quotas/", views.matrix, name="matrix"),
    path("quotas/summary/", views.summary, name="summary"),
    path("tenants/<slug:tenant>/quotas/", views.of_tenant, name="of-tenant"),
    path("tenants/<slug:tenant>/quotas/give/", views.give, name="give"),
    path("tenants/<slug:tenant>/quotas/in/<slug:cluster>/", views.edit, name="edit"),
    path("tenants/<slug:tenant>/quotas/in/<slug:cluster>/take/", views.take, name="take"),
    path("tenants/<slug:tenant>/quotas/in/<slug:cluster>/keep/", views.keep, name="keep"),
    path(
        "tenants/<slug:tenant>/quotas/in/<slug:cluster>/put-back/",
        views.put_back,
        name="put-back",
    ),
]
