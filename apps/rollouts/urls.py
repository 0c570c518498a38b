from django.urls import path

from apps.rollouts import views
from apps.rollouts.evidence_urls import urlpatterns as evidence

app_name = "rollouts"
_ALL = "migrations/"
_ONE = f"{_ALL}<int:migration_id>/"
urlpatterns = [
    *evidence,
    path(_ALL, views.migration_list, name="list"),
    path(f"{_ALL}+new/", views.migration_new, name="new"),
    path(_ONE, views.migration_page, name="detail"),
    path(f"{_ONE}settings/", views.migration_settings, name="settings"),
    path(f"{_ONE}gates/<slug:gate>/", views.gate_page, name="gate"),
    path(f"{_ONE}gates/<slug:gate>/chart/", views.gate_chart, name="gate-chart"),
    path(f"{_ONE}moves/<int:workload_id>/share/", views.share_chart, name="share-chart"),
    *(
        path(f"{_ONE}{name}/", views.migration_step, {"step": name}, name=name)
        for name in views.STEPS
    ),
]
