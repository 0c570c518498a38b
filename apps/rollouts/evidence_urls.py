from django.urls import path

from apps.rollouts import evidence_views as views

_ONE = "migrations/<int:migration_id>/"
urlpatterns = [
    path("migrations/+public-key/", views.public_key, name="public-key"),
    path(f"{_ONE}plan/", views.plan_page, name="plan"),
    path(f"{_ONE}preflight/", views.preflight_page, name="preflight"),
    path(f"{_ONE}shadow/", views.shadow_page, name="shadow"),
    path(f"{_ONE}nodes/", views.nodes_page, name="nodes"),
    path(f"{_ONE}nodes/forth/", views.nodes_step, {"direction": "forth"}, name="nodes-forth"),
    path(f"{_ONE}nodes/back/", views.nodes_step, {"direction": "back"}, name="nodes-back"),
    path(f"{_ONE}report/", views.report_page, name="report"),
    path(f"{_ONE}evidence/", views.evidence_file, name="evidence"),
]
