"""What every endpoint has: callers, limits, problems as JSON, ETags, and keys for repeated POSTs.

An ETag is `"version.hash"`: If-Match compares only the version of what people asked for, so that a
status that moves on does not get in the way of a change; If-None-Match compares the whole.
"""

from collections.abc import Callable, Collection
from hashlib import blake2b
from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django_filters.rest_framework import DjangoFilterBackend
from rest_framework.authentication import SessionAuthentication
from rest_framework.filters import SearchFilter
from rest_framework.generics import GenericAPIView
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api import errors, idempotency, strict
from apps.api.auth import MayWrite, TokenAuthentication
from apps.api.idempotency import Replayed
from apps.api.models import Replay
from apps.api.paging import PARAMETERS, KeyPagination
from apps.api.parsers import StrictJson
from apps.api.throttles import PerMinute
from apps.common.tables import Table
from apps.tenancy.models import User


class Api(GenericAPIView):
    authentication_classes = [TokenAuthentication, SessionAuthentication]
    permission_classes = [IsAuthenticated, MayWrite]
    throttle_classes = [PerMinute]
    parser_classes = [StrictJson]
    filter_backends: Any = []
    pagination_class: Any = None
    metadata_class = None  # no answers to OPTIONS: the description is in docs/openapi.yaml
    # The query parameters that are read; any other is refused.
    parameters: Collection[str] = ()
    # What a change of the thing itself changes, set by `shown`.
    version = ""
    replay: Replay | None = None

    def get_exception_handler(self) -> Callable[..., Any]:
        return errors.handle

    @property
    def actor(self) -> User:
        user = self.request.user
        assert isinstance(user, User)  # IsAuthenticated has seen to it
        return user

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        strict.refuse_parameters(request, self.parameters)
        self.replay = idempotency.begin(request, self.actor)

    def handle_exception(self, exc: Exception) -> Any:
        if isinstance(exc, Replayed):
            return exc.response
        return super().handle_exception(exc)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        response.headers.setdefault("Cache-Control", "private, no-cache")
        if isinstance(response, Response):
            response.add_post_render_callback(self._finish)
        return response

    def _finish(self, response: Response) -> HttpResponse | None:
        if 200 <= response.status_code < 300 and response.content:
            digest = blake2b(response.content, digest_size=12).hexdigest()
            etag = f'"{self.version}.{digest}"' if self.version else f'"{digest}"'
            response["ETag"] = etag
            if self.request.method in ("GET", "HEAD") and etag in _given(
                self.request, "If-None-Match"
            ):
                return HttpResponse(status=304, headers={"ETag": etag})
        if self.replay is not None:
            idempotency.finish(self.replay, response)
        return None

    def require_match(self, version: str) -> None:
        """Raise PreconditionFailed when If-Match names another version than this one."""
        given = _given(self.request, "If-Match")
        versions = [one.strip('"').partition(".")[0] for one in given]
        if given and "*" not in given and version not in versions:
            raise errors.PreconditionFailed

    def shown(self, item: Any, *, version: str = "", status: int = 200, **headers: str) -> Response:
        """One thing as its serializer shows it."""
        self.version = version
        data = self.get_serializer(item).data
        return Response(data, status=status, headers=headers)

    def asked(self, serializer: type[Any]) -> dict[str, Any]:
        """The body, checked for shape; raise ValidationError with the paths of what is wrong."""
        given = serializer(data=self.request.data, context={"request": self.request})
        strict.refuse_fields(given, self.request.data)
        given.is_valid(raise_exception=True)
        data: dict[str, Any] = given.validated_data
        return data


def _given(request: Request, header: str) -> list[str]:
    text = request.headers.get(header, "")
    return [one.strip().removeprefix("W/") for one in text.split(",") if one.strip()]


class Search(SearchFilter):
    search_param = "q"
    search_title = "Search"
    search_description = "Words that all must occur in the fields that the page searches."


class ListApi(Api):
    """A list with the filters, search and order of the page of the same thing."""

    filter_backends = [DjangoFilterBackend, Search]
    pagination_class = KeyPagination
    table: Table

    def rows(self) -> QuerySet[Any]:
        """What the caller may see of it."""
        raise Http404

    def get_queryset(self) -> QuerySet[Any]:
        if getattr(self, "swagger_fake_view", False):  # the description is made without a caller
            model: Any = self.serializer_class.Meta.model  # type: ignore[union-attr]
            none: QuerySet[Any] = model.objects.none()
            return none
        return self.rows()

    @property
    def filterset_class(self) -> Any:
        return self.table.filters

    @property
    def parameters(self) -> Collection[str]:  # type: ignore[override]
        filters = self.table.filters.base_filters if self.table.filters else ()
        search = (Search.search_param,) if self.table.search else ()
        return (*PARAMETERS, *search, *filters)

    @property
    def search_fields(self) -> list[str]:
        return list(self.table.search)

    def listed(self) -> Response:
        rows = self.filter_queryset(self.get_queryset())
        page = self.paginate_queryset(rows)
        return self.get_paginated_response(self.get_serializer(page, many=True).data)
