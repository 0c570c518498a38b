"""Icons come from one sprite; a state is always an icon and a word, its colour is only a help."""

from functools import cache
from typing import Final, NamedTuple

from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString

_UNSPOKEN: Final = SafeString('aria-hidden="true"')
SPRITE: Final = "vendor/tabler-icons-3.52.0.svg"


def icon(name: str, *, label: str = "", classes: str = "") -> SafeString:
    """An icon of the sprite; without a label it is decoration and hidden from screen readers."""
    if not label and not classes:
        return _decoration(name)
    return _drawn(name, label, classes)


@cache
def _decoration(name: str) -> SafeString:
    """Lists show the same few icons hundreds of times."""
    return _drawn(name, "", "")


def _drawn(name: str, label: str, classes: str) -> SafeString:
    spoken = format_html('role="img" aria-label="{}"', label) if label else _UNSPOKEN
    return format_html(
        '<svg class="icon {}" width="24" height="24" {}><use href="{}#{}"></use></svg>',
        classes,
        spoken,
        static(SPRITE),
        name,
    )


class Look(NamedTuple):
    icon: str
    tone: str  # good, busy, wait, warn, bad, off: colours of static/css/app.css


_GOOD = Look("circle-check", "good")
_BUSY = Look("progress", "busy")
_WAIT = Look("clock", "wait")
_WARN = Look("alert-triangle", "warn")
_BAD = Look("circle-x", "bad")
_OFF = Look("circle-minus", "off")
_DONT_KNOW = Look("help-circle", "off")

# The words of states, lower case, wherever they come from; one word looks the same everywhere.
LOOKS: Final[dict[str, Look]] = {
    # devices and cards
    "in use": Look("circle-dot", "busy"),
    "in use (dra)": Look("ticket", "dra"),
    "in use (device plugin)": Look("plug", "plugin"),
    "blocked": Look("ban", "off"),
    "dra": Look("ticket", "dra"),
    "device plugin": Look("plug", "plugin"),
    "in use by dra": Look("ticket", "dra"),
    "in use by device plugin": Look("plug", "plugin"),
    "free": Look("circle", "good"),
    "unhealthy": Look("heart-broken", "bad"),
    "unknown": _DONT_KNOW,
    "vanished": Look("cloud-off", "warn"),
    # nodes and clusters
    "ready": _GOOD,
    "not ready": _BAD,
    "cordoned": Look("ban", "warn"),
    "connected": Look("plug-connected", "good"),
    "lost": Look("plug-connected-x", "bad"),
    "observe": Look("eye", "off"),
    "propose": Look("file-diff", "wait"),
    "manage": Look("bolt", "busy"),
    "retired": Look("archive", "off"),
    # claims and workloads
    "pending": _WAIT,
    "allocated": _BUSY,
    "reserved": _GOOD,
    "running": _GOOD,
    "allocated, unused": Look("alert-triangle", "warn"),
    "being deleted": Look("trash", "off"),
    "deleting": Look("trash", "off"),
    "failed": _BAD,
    "degraded": _WARN,
    "progressing": _BUSY,
    "paused": Look("player-pause", "wait"),
    "healthy": _GOOD,
    "inadmissible": Look("ban", "bad"),
    "scaled to zero": Look("player-stop", "off"),
    "loading": _BUSY,
    "ended": _OFF,
    "refused": _BAD,
    "not applied": _WARN,
    "applying": _BUSY,
    "starting": _BUSY,
    "stopped": Look("player-stop", "off"),
    "retiring": Look("archive", "wait"),
    "canceled": Look("arrow-back-up", "off"),
    "crashloopbackoff": _BAD,
    "imagepullbackoff": _BAD,
    "errimagepull": _BAD,
    "oomkilled": _BAD,
    "createcontainerconfigerror": _BAD,
    "failedcreate": _BAD,
    "containercreating": _BUSY,
    "ending": Look("trash", "off"),
    "podinitializing": _BUSY,
    # approvals
    "draft": Look("edit", "off"),
    "in review": Look("user-question", "wait"),
    "approved": Look("shield-check", "good"),
    "denied": Look("thumb-down", "bad"),
    "withdrawn": Look("arrow-back-up", "off"),
    "expired": Look("hourglass-empty", "off"),
    "applied": _GOOD,
    "drifted": Look("git-compare", "warn"),
    # conditions
    "true": _GOOD,
    "false": _BAD,
    # verdicts and answers
    "pass": _GOOD,
    "fail": _BAD,
    "no data": Look("database-off", "off"),
    "inconclusive": _DONT_KNOW,
    "error": Look("alert-circle", "bad"),
    "waiting": Look("loader-2", "wait"),
    "answered": _GOOD,
    # migrations
    "rolling back": Look("arrow-back-up", "warn"),
    "rolled back": Look("arrow-back-up", "bad"),
    "frozen": Look("player-pause", "warn"),
    "left": _OFF,
    "done": _GOOD,
    "passed": _GOOD,
    # freshness of figures
    "live": Look("activity", "good"),
    "stale": Look("clock-exclamation", "warn"),
    "partial": Look("circle-dashed", "warn"),
    "no traffic": Look("activity", "off"),
    "not reported": Look("database-off", "off"),
    "not kept": Look("archive", "off"),
    "not configured": Look("settings-off", "off"),
    "no permission": Look("lock", "warn"),
    # roles and plain answers
    "active": _GOOD,
    "revoked": Look("ban", "bad"),
    "yes": Look("check", "good"),
    "no": Look("x", "off"),
}


def look_of(word: str) -> Look:
    return LOOKS.get(word.lower().replace("_", " ").replace("-", " "), _DONT_KNOW)
