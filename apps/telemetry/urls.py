from django.urls import path

from apps.telemetry import views

app_name = "telemetry"
urlpatterns = [
    path("t/<slug:tenant>/telemetry/<slug:name>/live/", views.live, name="live"),
    path("t/<slug:tenant>/telemetry/<slug:name>/chart/", views.chart, name="chart"),
]
