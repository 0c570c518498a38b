from django.urls import path

from apps.common import views

app_name = "common"
urlpatterns = [
    path("asks/<uuid:key>/", views.ask_part, name="ask"),
    path("asks/<uuid:key>/take-back/", views.ask_take_back, name="ask-take-back"),
]
