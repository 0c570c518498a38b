"""What the frame of a page needs: the links of the left side, and the scope in the URL.

Both are functions that base.html calls, so that a part, which has no frame, does not pay for them.
A link whose page does not exist for this person is left out.
"""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse

from apps.tenancy.models import PlatformRole
from apps.tenancy.selectors import tenants_of

SCOPES = ("cluster", "tenant")


@dataclass(frozen=True, slots=True)
class Page:
    title: str
    name: str  # URL name
    icon: str
    key: str = ""  # after g
    roles: tuple[PlatformRole, ...] = ()  # none means everyone
    of_tenant: bool = False  # its URL holds the tenant


@dataclass(frozen=True, slots=True)
class Link:
    title: str
    url: str
    icon: str
    key: str
    current: bool


@dataclass(frozen=True, slots=True)
class Group:
    title: str
    links: list[Link]


_PLATFORM = tuple(PlatformRole)
PAGES: tuple[tuple[str, tuple[Page, ...]], ...] = (
    ("", (Page("Overview", "home", "layout-dashboard", "o"),)),
    (
        "Inventory",
        (
            Page("Clusters", "inventory:clusters", "cloud", "l", _PLATFORM),
            Page("Nodes", "inventory:nodes", "server-2", "n", _PLATFORM),
            Page("Devices", "inventory:devices", "cpu", "d", _PLATFORM),
            Page("Claims", "claims:list", "ticket", "c"),
            Page("Would it fit?", "placement:what-if", "zoom-question", "w"),
        ),
    ),
    (
        "Catalog",
        (
            Page("Device classes", "catalog:classes", "category", "k"),
            Page("Claim patterns", "catalog:patterns", "file-certificate", "p"),
            Page("Approvals", "catalog:approvals", "checklist", "a", _PLATFORM),
        ),
    ),
    (
        "Teams",
        (
            Page("Tenants", "tenancy:list", "users", "t"),
            Page("Quotas", "quotas:matrix", "scale", "q"),
            Page("Deployments", "deployments:list", "rocket", "m", of_tenant=True),
            Page("Migrations", "rollouts:list", "git-compare", "r"),
            Page("People", "tenancy:people", "user", "e", (PlatformRole.ADMIN,)),
        ),
    ),
    (
        "Observability",
        (
            Page("Figures and charts", "telemetry:home", "chart-line", "v"),
            Page("Usage", "telemetry:usage", "clock", "h"),
        ),
    ),
    ("Governance", (Page("Audit", "audit:list", "history", "u"),)),
)


@dataclass(frozen=True, slots=True)
class Picker:
    title: str
    icon: str
    chosen: str
    url: str


@dataclass(frozen=True, slots=True)
class Scope:
    """What the URL narrows the page to: `?cluster=` and `?tenant=`, or the tenant in the path."""

    cluster: str
    tenant: str
    pickers: list[Picker]

    @property
    def query(self) -> str:
        """As a query string, to carry along to another page; empty without a scope."""
        held = {name: getattr(self, name) for name in SCOPES if getattr(self, name)}
        return f"?{urlencode(held)}" if held else ""


def scope_of(request: HttpRequest) -> Scope:
    match = request.resolver_match
    held = {name: request.GET.get(name, "") for name in SCOPES}
    for name in SCOPES:
        if match and name in match.kwargs:
            held[name] = str(match.kwargs[name])
    source = urlencode({"from": request.get_full_path()})
    icons = {"cluster": "cloud", "tenant": "users"}
    pickers = [
        Picker(name.title(), icons[name], held[name], f"{reverse('scope', args=[name])}?{source}")
        for name in SCOPES
    ]
    return Scope(held["cluster"], held["tenant"], pickers)


def groups_for(request: HttpRequest, scope: Scope) -> list[Group]:
    user: Any = request.user
    if not user.is_authenticated:
        return []
    groups = []
    for title, pages in PAGES:
        shown = [page for page in pages if not page.roles or user.has_platform_role(*page.roles)]
        links = [link for page in shown if (link := _link(request, page, scope)) is not None]
        if links:
            groups.append(Group(title, links))
    return groups


def _link(request: HttpRequest, page: Page, scope: Scope) -> Link | None:
    args = []
    if page.of_tenant:
        tenant = scope.tenant or _first_tenant(request.user)
        if not tenant:
            return None
        args = [tenant]
    try:
        url = reverse(page.name, args=args)
    except NoReverseMatch:
        return None
    here = request.path if page.name == "home" else request.path[: len(url)]
    return Link(page.title, url + scope.query, page.icon, page.key, here == url)


def _first_tenant(user: Any) -> str:
    """The tenant a person most likely means: one they belong to, else the first they may see."""
    own = user.memberships.values_list("tenant__slug", flat=True).order_by("tenant__slug").first()
    return own or tenants_of(user).values_list("slug", flat=True).first() or ""


def context(request: HttpRequest) -> dict[str, Any]:
    """The context processor. Values are functions; a template calls them when it shows them."""
    kept: dict[str, Any] = {}

    def scope() -> Scope:
        if "scope" not in kept:
            kept["scope"] = scope_of(request)
        found: Scope = kept["scope"]
        return found

    def navigation() -> list[Group]:
        if "groups" not in kept:
            kept["groups"] = groups_for(request, scope())
        found: list[Group] = kept["groups"]
        return found

    return {"navigation": navigation, "scope": scope}
