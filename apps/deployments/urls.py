from django.urls import path

from apps.deployments import (
    change_views,
    pool_views,
    route_views,
    views,
    wizard_views,
    yaml_views,
)

app_name = "deployments"
_ALL = "t/<slug:tenant>/deployments/"
_ONE = f"{_ALL}<slug:name>/"
urlpatterns = [
    path("deployments/summary/", views.summary, name="summary"),
    path("clusters/<slug:cluster>/gateway/", pool_views.cluster_gateway, name="gateway"),
    path(_ALL, views.deployment_list, name="list"),
    path(f"{_ALL}+new/", wizard_views.deployment_new, name="new"),
    path(f"{_ALL}+yaml/", yaml_views.deployment_yaml, name="yaml"),
    path(f"{_ALL}+submit/", yaml_views.deployment_submit, name="submit"),
    path(_ONE, views.deployment_page, name="detail"),
    path(f"{_ONE}change/", change_views.deployment_change, name="change"),
    path(f"{_ONE}edit/", yaml_views.deployment_edit, name="edit"),
    path(f"{_ONE}objects/", views.deployment_objects, name="objects"),
    path(f"{_ONE}try/", views.deployment_try, name="try"),
    path(f"{_ONE}pods/<str:pod>/log/", views.deployment_logs, name="logs"),
    path(f"{_ONE}pools/<slug:pool>/scale/", views.pool_scale, name="scale"),
    path(f"{_ONE}sharing/", pool_views.deployment_sharing, name="sharing"),
    path(f"{_ONE}route/", route_views.deployment_route, name="route"),
    path(f"{_ONE}route/hand-over/", route_views.route_hand_over, name="hand-over"),
    path(f"{_ONE}route/take-back/", route_views.route_take_back, name="take-back"),
    path(f"{_ONE}weights/", pool_views.deployment_weights, name="weights"),
    path(f"{_ONE}pools/<slug:pool>/remove/", pool_views.pool_remove, name="remove-pool"),
    path(f"{_ONE}pools/<slug:pool>/why/", views.pool_why, name="why"),
    path(f"{_ONE}restart/", views.deployment_step, {"step": "restart"}, name="restart"),
    path(f"{_ONE}put-back/", views.deployment_step, {"step": "put-back"}, name="put-back"),
    path(f"{_ONE}retire/", views.deployment_step, {"step": "retire"}, name="retire"),
]
