"""What Envoy reads: its bootstrap, and files of clusters and routes, taken up when renamed."""

import json
import os
import re
import time
import urllib.request
from pathlib import Path
from typing import Any

Json = dict[str, Any]

HEADER = "x-gateway-destination-endpoint"
TYPE = "type.googleapis.com/envoy."
LIMITS = {
    "thresholds": [{"max_connections": 40000, "max_pending_requests": 40000, "max_requests": 40000}]
}
DUPLEX = {
    "request_header_mode": "SEND",
    "response_header_mode": "SEND",
    "request_body_mode": "FULL_DUPLEX_STREAMED",
    "response_body_mode": "FULL_DUPLEX_STREAMED",
    "request_trailer_mode": "SEND",
    "response_trailer_mode": "SEND",
}
VERSIONS = {
    "cds": "cluster_manager.cds.version_text",
    "rds": "http.gateway.rds.routes.version_text",
}


def address(text: str) -> Json:
    host, _, port = text.rpartition(":")
    return {"socket_address": {"address": host, "port_value": int(port)}}


def assignment(name: str, endpoints: list[str]) -> Json:
    found = [{"endpoint": {"address": address(one)}} for one in endpoints]
    return {"cluster_name": name, "endpoints": [{"lb_endpoints": found}]}


def routes(hosts: list[Json]) -> Json:
    kind = TYPE + "config.route.v3.RouteConfiguration"
    return {"@type": kind, "name": "routes", "virtual_hosts": hosts}


def bootstrap(folder: Path, admin: str, listen: str) -> Json:
    manager = {
        "@type": TYPE
        + "extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "gateway",
        "rds": {"route_config_name": "routes", "config_source": _source(folder, "rds.json")},
        "access_log": [_access_log(folder)],
        "http_filters": [_picking(), _router()],
    }
    chain = {
        "filters": [
            {"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}
        ]
    }
    listener = {"name": "http", "address": address(listen), "filter_chains": [chain]}
    return {
        "node": {"id": "test", "cluster": "test"},
        "admin": {"address": address(admin)},
        "dynamic_resources": {"cds_config": _source(folder, "cds.json")},
        "static_resources": {"listeners": [listener]},
    }


def _source(folder: Path, name: str) -> Json:
    path = {"path": str(folder / name), "watched_directory": {"path": str(folder)}}
    return {"resource_api_version": "V3", "path_config_source": path}


def _access_log(folder: Path) -> Json:
    fields = {
        "code": "%RESPONSE_CODE%",
        "flags": "%RESPONSE_FLAGS%",
        "details": "%RESPONSE_CODE_DETAILS%",
        "cluster": "%UPSTREAM_CLUSTER_RAW%",
    }
    config = {
        "@type": TYPE + "extensions.access_loggers.file.v3.FileAccessLog",
        "path": str(folder / "access.log"),
        "log_format": {"json_format": fields},
    }
    return {"name": "envoy.access_loggers.file", "typed_config": config}


def _picking() -> Json:
    """Off by default; each weighted cluster names its own picker."""
    config = {
        "@type": TYPE + "extensions.filters.http.ext_proc.v3.ExternalProcessor",
        "message_timeout": "10s",
        "processing_mode": DUPLEX,
        "grpc_service": {"envoy_grpc": {"cluster_name": "missing"}},
    }
    return {"name": "envoy.filters.http.ext_proc", "disabled": True, "typed_config": config}


def _router() -> Json:
    config = {"@type": TYPE + "extensions.filters.http.router.v3.Router"}
    return {"name": "envoy.filters.http.router", "typed_config": config}


class Files:
    """Writes the files and waits until Envoy says that it has taken them."""

    def __init__(self, folder: Path, admin: str) -> None:
        self.folder, self.admin = folder, admin
        self._versions = dict.fromkeys(VERSIONS, 0)
        self._last: dict[str, str] = {}

    def begin(self, listen: str) -> Path:
        """What must be there before Envoy starts; the path of its bootstrap."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._replace("cds", {"version_info": "none", "resources": []})
        self._replace("rds", {"version_info": "none", "resources": [routes([])]})
        self._replace("bootstrap", bootstrap(self.folder, self.admin, listen))
        for job in ("vllm", "epp"):
            self._replace(f"targets-{job}", [])
        return self.folder / "bootstrap.json"

    def put(self, kind: str, resources: Any) -> None:
        text = json.dumps(resources, sort_keys=True)
        if self._last.get(kind) == text:
            return
        self._last[kind] = text
        if kind not in VERSIONS:
            self._replace(kind, resources)
            return
        self._versions[kind] += 1
        version = f"{kind}-{self._versions[kind]}"
        self._replace(kind, {"version_info": version, "resources": resources})
        self._wait(VERSIONS[kind], version)

    def _replace(self, kind: str, content: Any) -> None:
        new = self.folder / f".{kind}.new"
        new.write_text(json.dumps(content))
        os.replace(new, self.folder / f"{kind}.json")

    def _wait(self, stat: str, version: str) -> None:
        url = f"http://{self.admin}/stats?filter=^{re.escape(stat)}$"
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(url, timeout=2) as answer:
                    if f'"{version}"' in answer.read().decode():
                        return
            except OSError:
                pass
            time.sleep(0.005)
        raise TimeoutError(f"Envoy did not take {version}")
