from django.urls import path

from apps.inventory import cluster_views, views

app_name = "inventory"
urlpatterns = [
    path("clusters/", cluster_views.cluster_list, name="clusters"),
    path("clusters/new/", cluster_views.cluster_new, name="cluster-new"),
    path("clusters/register/<uuid:key>/", cluster_views.cluster_register, name="cluster-register"),
    path("clusters/writes/stop/", cluster_views.writes_stop, name="writes-stop"),
    path("clusters/writes/allow/", cluster_views.writes_allow, name="writes-allow"),
    path("clusters/<slug:slug>/", cluster_views.cluster_page, name="cluster"),
    path("clusters/<slug:slug>/mode/", cluster_views.cluster_mode, name="cluster-mode"),
    path("clusters/<slug:slug>/check/", cluster_views.cluster_check, name="cluster-check"),
    path("clusters/<slug:slug>/retire/", cluster_views.cluster_retire, name="cluster-retire"),
    path(
        "clusters/<slug:slug>/credentials/",
        cluster_views.cluster_credentials,
        name="cluster-credentials",
    ),
    path(
        "clusters/<slug:slug>/credentials/<uuid:key>/",
        cluster_views.cluster_replace,
        name="cluster-replace",
    ),
    path("nodes/", views.node_list, name="nodes"),
    path("nodes/<slug:cluster>/<str:name>/", views.node_page, name="node"),
    path("nodes/<slug:cluster>/<str:name>/cards/", views.node_cards, name="node-cards"),
    path("devices/", views.device_list, name="devices"),
    path("devices/<int:device_id>/", views.device_page, name="device"),
    path("parts/freshness/", views.freshness_part, name="freshness"),
    path("parts/accelerators/", views.summary_part, name="summary"),
]
