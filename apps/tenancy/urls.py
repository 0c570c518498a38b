from django.urls import path

from apps.tenancy import views

app_name = "tenancy"
urlpatterns = [
    path("", views.tenant_list, name="list"),
    path("new/", views.tenant_new, name="new"),
    path("<slug:tenant>/", views.tenant_page, name="detail"),
    path("<slug:tenant>/members/", views.member_add, name="member-add"),
    path(
        "<slug:tenant>/members/<int:member_id>/remove/", views.member_remove, name="member-remove"
    ),
    path("<slug:tenant>/retire/", views.tenant_retire, name="retire"),
]
