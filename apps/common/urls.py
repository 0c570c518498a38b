from django.urls import path

from apps.common import views

app_name = "common"
urlpatterns = [
    path("asks/<uuid:key>/", views.ask_part, name="ask"),
]
