from django.urls import path

from apps.claims import views

app_name = "claims"
urlpatterns = [
    path("claims/", views.claim_list, name="list"),
    path("allocation/", views.allocation_page, name="allocation-page"),
    path("claims/<int:claim_id>/", views.claim_page, name="detail"),
    path("claims/of/<slug:cluster>/<str:uid>/", views.claim_by_uid, name="by-uid"),
    path("parts/claims/", views.summary_part, name="summary"),
    path("parts/holders/<slug:cluster>/<str:node>/", views.node_part, name="on-node"),
    path("parts/device-uses/<int:device_id>/", views.device_part, name="of-device"),
    path("charts/allocation/", views.allocation_chart, name="allocation"),
]
