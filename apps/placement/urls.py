from django.urls import path

from apps.placement import views, why_views

app_name = "placement"
urlpatterns = [
    path("placement/", views.what_if, name="what-if"),
    path("placement/<uuid:key>/fixes/", views.fixes, name="fixes"),
    path("placement/fragmentation/", views.fragments, name="fragments"),
    path("placement/shadow/", views.shadow, name="shadow"),
    path("claims/<int:claim_id>/why/", why_views.why_claim, name="why-claim"),
    path(
        "placement/why/<slug:cluster>/<str:namespace>/<str:name>/",
        why_views.why_pod,
        name="why-pod",
    ),
]
