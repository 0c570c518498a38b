"""The audit trail, read only."""

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.base import Api, ListApi
from apps.audit.models import Entry
from apps.audit.selectors import entries_for
from apps.audit.views import ENTRIES


class EntryOut(serializers.ModelSerializer):
    actor = serializers.CharField(source="actor_name", read_only=True)
    before = serializers.DictField(allow_null=True, read_only=True)
    after = serializers.DictField(allow_null=True, read_only=True)

    class Meta:
        model = Entry
        fields = (
            "id",
            "at",
            "actor",
            "verb",
            "subject_kind",
            "subject_id",
            "subject_name",
            "before",
            "after",
            "message",
            "request_id",
        )
        read_only_fields = fields


class EntriesApi(ListApi):
    serializer_class = EntryOut
    table = ENTRIES

    def rows(self) -> QuerySet[Entry]:
        return entries_for(self.request.user)

    @extend_schema(
        operation_id="audit_list",
        summary="Who changed what",
        responses=EntryOut(many=True),
    )
    def get(self, request: Request) -> Response:
        return self.listed()


class EntryApi(Api):
    serializer_class = EntryOut

    @extend_schema(operation_id="audit_read", summary="One change, with before and after")
    def get(self, request: Request, entry_id: int) -> Response:
        return self.shown(get_object_or_404(entries_for(request.user), pk=entry_id))
