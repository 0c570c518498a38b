from django.urls import path

from apps.audit import views

app_name = "audit"
urlpatterns = [
    path("", views.entry_list, name="list"),
    path("<int:entry_id>/", views.entry_page, name="entry"),
]
