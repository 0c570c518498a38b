from django.urls import path

from apps.api import docs

app_name = "api"
urlpatterns = [
    path("docs/", docs.docs, name="docs"),
]
