from django.urls import path

from apps.tenancy import people_views, views

app_name = "tenancy"
urlpatterns = [
    path("", views.tenant_list, name="list"),
    path("new/", views.tenant_new, name="new"),
    path("+people/", people_views.person_list, name="people"),
    path("+people/new/", people_views.person_new, name="person-new"),
    path("+people/<int:person_id>/", people_views.person_page, name="person"),
    path("<slug:tenant>/", views.tenant_page, name="detail"),
    path("<slug:tenant>/members/", views.member_add, name="member-add"),
    path(
        "<slug:tenant>/members/<int:member_id>/remove/", views.member_remove, name="member-remove"
    ),
    path("<slug:tenant>/retire/", views.tenant_retire, name="retire"),
]
