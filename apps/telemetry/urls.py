from django.urls import path

from apps.telemetry import export_views, source_views, usage_views, views

app_name = "telemetry"
urlpatterns = [
    path("metrics", export_views.own_metrics, name="own-metrics"),
    path("observability/", views.home, name="home"),
    path("observability/figures/", views.figures, name="figures"),
    path("observability/chart/", views.chart, name="chart"),
    path("observability/table/", views.table, name="table"),
    path("observability/csv/", views.as_csv, name="csv"),
    path("observability/tenants/<slug:tenant>/", views.tenant_page, name="tenant"),
    path("observability/tenants/<slug:tenant>/<slug:name>/", views.deployment, name="deployment"),
    path("observability/classes/<str:name>/", views.device_class, name="class"),
    path("observability/nodes/<slug:cluster>/<str:name>/", views.node, name="node"),
    path("usage/", usage_views.page, name="usage"),
    path("usage/bars/", usage_views.bars, name="usage-bars"),
    path("usage/export/", usage_views.export, name="usage-export"),
    path("clusters/<slug:cluster>/metrics/", source_views.source, name="source"),
    path("clusters/<slug:cluster>/metrics/try/", source_views.try_source, name="source-try"),
    path("t/<slug:tenant>/telemetry/<slug:name>/live/", views.live, name="live"),
    path("t/<slug:tenant>/telemetry/<slug:name>/over-time/", views.over_time, name="over-time"),
]
