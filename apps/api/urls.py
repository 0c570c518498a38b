from django.urls import include, path

from apps.api import (
    asks,
    audit,
    catalog,
    claims,
    clusters,
    deployments,
    docs,
    inventory,
    quotas,
    schema,  # noqa: F401 - registers how tokens are described
    tenancy,
)

app_name = "api"
_TENANT = "tenants/<slug:tenant>/"
_ONE = _TENANT + "deployments/<slug:name>/"
v1 = [
    path("clusters/", clusters.ClustersApi.as_view(), name="clusters"),
    path("cluster-trials/", clusters.TryApi.as_view()),
    path("clusters/<slug:cluster>/", clusters.ClusterApi.as_view(), name="cluster"),
    path("clusters/<slug:cluster>/credentials/", clusters.CredentialsApi.as_view()),
    path("writes/", clusters.WritesApi.as_view(), name="writes"),
    path("nodes/", inventory.NodesApi.as_view(), name="nodes"),
    path("nodes/<int:node_id>/", inventory.NodeApi.as_view(), name="node"),
    path("devices/", inventory.DevicesApi.as_view(), name="devices"),
    path("devices/<int:device_id>/", inventory.DeviceApi.as_view(), name="device"),
    path("claims/", claims.ClaimsApi.as_view(), name="claims"),
    path("claims/<int:claim_id>/", claims.ClaimApi.as_view(), name="claim"),
    path("device-classes/", catalog.ClassesApi.as_view(), name="device-classes"),
    path("device-classes/<str:name>/", catalog.ClassApi.as_view(), name="device-class"),
    path("device-classes/<str:name>/draft/", catalog.ClassDraftApi.as_view()),
    path("device-classes/<str:name>/submit/", catalog.ClassSubmitApi.as_view()),
    path("device-classes/<str:name>/withdraw/", catalog.ClassWithdrawApi.as_view()),
    path("device-classes/<str:name>/clusters/<slug:cluster>/", catalog.ClassPlacementApi.as_view()),
    path("claim-patterns/", catalog.PatternsApi.as_view(), name="claim-patterns"),
    path("claim-patterns/<slug:slug>/", catalog.PatternApi.as_view(), name="claim-pattern"),
    path("claim-patterns/<slug:slug>/draft/", catalog.PatternDraftApi.as_view()),
    path("claim-patterns/<slug:slug>/submit/", catalog.PatternSubmitApi.as_view()),
    path(
        "claim-patterns/<slug:slug>/versions/<int:number>/withdraw/",
        catalog.PatternWithdrawApi.as_view(),
    ),
    path("approvals/", catalog.ApprovalsApi.as_view(), name="approvals"),
    path("approvals/<int:approval_id>/", catalog.ApprovalApi.as_view(), name="approval"),
    path("approvals/<int:approval_id>/approve/", catalog.ApproveApi.as_view()),
    path("approvals/<int:approval_id>/deny/", catalog.DenyApi.as_view()),
    path("approvals/<int:approval_id>/take-back/", catalog.TakeBackApi.as_view()),
    path("tenants/", tenancy.TenantsApi.as_view(), name="tenants"),
    path(_TENANT, tenancy.TenantApi.as_view(), name="tenant"),
    path(_TENANT + "members/", tenancy.MembersApi.as_view(), name="members"),
    path(_TENANT + "members/<str:user>/", tenancy.MemberApi.as_view(), name="member"),
    path(_TENANT + "quotas/<slug:cluster>/", quotas.TenantQuotasApi.as_view()),
    path(_TENANT + "deployments/", deployments.TenantDeploymentsApi.as_view()),
    path(_TENANT + "deployment-preview/", deployments.PreviewApi.as_view()),
    path(_ONE, deployments.DeploymentApi.as_view(), name="deployment"),
    path(_ONE + "scale/", deployments.ScaleApi.as_view()),
    path(_ONE + "restart/", deployments.RestartApi.as_view()),
    path("quotas/", quotas.QuotasApi.as_view(), name="quotas"),
    path("deployments/", deployments.DeploymentsApi.as_view(), name="deployments"),
    path("asks/<uuid:key>/", asks.AskApi.as_view(), name="ask"),
    path("audit/", audit.EntriesApi.as_view(), name="audit"),
    path("audit/<int:entry_id>/", audit.EntryApi.as_view(), name="audit-entry"),
]
urlpatterns = [
    path("v1/", include(v1)),
    path("docs/", docs.docs, name="docs"),
    path("docs/openapi.yaml", docs.document, name="document"),
]
