"""Which pages there are: found by following links, one address per page."""

import re
from collections import deque
from urllib.parse import urlsplit

from django.test import Client
from django.urls import Resolver404, resolve

_LINKS = re.compile(r'(?:href|hx-get)="(/[^"#]*)"')
_MOST = 400


def pages_of(client: Client, start: str = "/") -> dict[str, str]:
    """View name -> an address that shows it as a whole page, for whom `client` is logged in."""
    queue, seen, found = deque([start]), {start}, dict[str, str]()
    tried: dict[str, int] = {}
    client.raise_request_exception = False
    while queue and len(seen) < _MOST:
        address = queue.popleft()
        name = _name(address)
        if name is None or name in found or tried.get(name, 0) > 2:
            continue
        tried[name] = tried.get(name, 0) + 1
        answer = client.get(address)
        if answer.status_code >= 500:
            found[name] = address  # so that whoever opens it sees it fail
        if answer.status_code != 200 or "html" not in answer["Content-Type"]:
            continue
        text = answer.text
        if text.lstrip().lower().startswith("<!doctype"):
            found[name] = address
        for link in _LINKS.findall(text):
            link = link.replace("&amp;", "&")
            if link not in seen:
                seen.add(link)
                queue.append(link)
    return found


def _name(address: str) -> str | None:
    try:
        match = resolve(urlsplit(address).path)
    except Resolver404:
        return None
    if match.view_name == "logout" or address.startswith(("/static/", "/api/v1/")):
        return None
    return match.view_name
