from django.urls import path

from apps.catalog import approval_views, pattern_views, views

app_name = "catalog"
urlpatterns = [
    path("classes/", views.class_list, name="classes"),
    path("classes/new/", views.class_new, name="class-new"),
    path("classes/match/", views.class_match, name="class-match"),
    path("classes/<str:name>/", views.class_page, name="class"),
    path("classes/<str:name>/edit/", views.class_edit, name="class-edit"),
    path("classes/<str:name>/place/", views.class_place, name="class-place"),
    path("classes/<str:name>/submit/", views.class_step, {"step": "submit"}, name="class-submit"),
    path(
        "classes/<str:name>/withdraw/",
        views.class_step,
        {"step": "withdraw"},
        name="class-withdraw",
    ),
    path(
        "classes/<str:name>/in/<slug:cluster>/put-back/",
        views.class_put_back,
        name="class-put-back",
    ),
    path("patterns/", pattern_views.pattern_list, name="patterns"),
    path("patterns/new/", pattern_views.pattern_new, name="pattern-new"),
    path("patterns/match/", pattern_views.pattern_match, name="pattern-match"),
    path("patterns/<slug:slug>/", pattern_views.pattern_page, name="pattern"),
    path("patterns/<slug:slug>/edit/", pattern_views.pattern_edit, name="pattern-edit"),
    path("patterns/<slug:slug>/tenants/", pattern_views.pattern_tenants, name="pattern-tenants"),
    path(
        "patterns/<slug:slug>/submit/",
        pattern_views.pattern_step,
        {"step": "submit"},
        name="pattern-submit",
    ),
    path(
        "patterns/<slug:slug>/withdraw/",
        pattern_views.pattern_step,
        {"step": "withdraw"},
        name="pattern-withdraw",
    ),
    path("approvals/", approval_views.approval_list, name="approvals"),
    path("approvals/<int:approval_id>/", approval_views.approval_page, name="approval"),
    path(
        "approvals/<int:approval_id>/effect/",
        approval_views.approval_effect,
        name="approval-effect",
    ),
]
