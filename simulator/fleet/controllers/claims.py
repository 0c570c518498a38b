"""ResourceClaims: made from templates for pods, given back when no pod uses them any more."""

import asyncio
from typing import Any

from simulator.fleet.api import CLAIMS, PODS, TEMPLATES, ApiError
from simulator.fleet.cache import Cluster, Key, Queue, key_of
from simulator.fleet.controllers.ownership import (
    controller_of,
    is_done,
    is_going,
    owned_by,
    owner_reference,
)
from simulator.fleet.events import Recorder

type Json = dict[str, Any]

FINALIZER = "resource.kubernetes.io/delete-protection"
_ENTRY = "resource.kubernetes.io/pod-claim-name"
_COMPONENT = "resource_claim"


class Claims:
    def __init__(self, cluster: Cluster, recorder: Recorder) -> None:
        self._api = cluster.api
        self._recorder = recorder
        self._claims = cluster.store(CLAIMS)
        self._pods = cluster.store(PODS)
        self._templates = cluster.store(TEMPLATES)
        self._making = Queue("claims for pod", self._make)
        self._freeing = Queue("claim", self._free)
        self._pods.listen(self._pod_changed)
        self._claims.listen(lambda old, new: self._freeing.add(key_of(new or old or {})))
        self._templates.listen(self._template_changed)

    async def run(self) -> None:
        stores = (self._claims, self._pods, self._templates)
        await asyncio.gather(*(store.ready.wait() for store in stores))
        async with asyncio.TaskGroup() as group:
            group.create_task(self._making.run())
            group.create_task(self._freeing.run())

    def _pod_changed(self, before: Json | None, after: Json | None) -> None:
        pod = after or before or {}
        if not pod["spec"].get("resourceClaims"):
            return
        if after is not None and not is_done(after) and not is_going(after):
            self._making.add(key_of(after))
            return
        for claim in list(self._claims.within(pod["metadata"]["namespace"])):
            users = (claim.get("status") or {}).get("reservedFor") or []
            owner = controller_of(claim)
            uids = {user["uid"] for user in users} | ({owner["uid"]} if owner else set())
            if pod["metadata"]["uid"] in uids:
                self._freeing.add(key_of(claim))

    def _template_changed(self, before: Json | None, after: Json | None) -> None:
        if after:
            for pod in self._pods.within(after["metadata"]["namespace"]):
                if pod["spec"].get("resourceClaims"):
                    self._making.add(key_of(pod))

    # For pods.

    async def _make(self, key: Key) -> None:
        pod = self._pods.get(*key)
        if pod is None or is_done(pod) or is_going(pod):
            return
        statuses = {
            item["name"]: item
            for item in (pod.get("status") or {}).get("resourceClaimStatuses") or []
        }
        missing = [
            entry
            for entry in pod["spec"].get("resourceClaims") or []
            if entry.get("resourceClaimTemplateName") and entry["name"] not in statuses
        ]
        if not missing:
            return
        for entry in missing:
            name = await self._claim_for(pod, entry)
            if not name:
                self._making.add_after(key, 1.0)
                return
            statuses[entry["name"]] = {"name": entry["name"], "resourceClaimName": name}
        body = {"status": {"resourceClaimStatuses": list(statuses.values())}}
        self._pods.assume(await self._api.merge(PODS, *key, body, sub="status"))

    async def _claim_for(self, pod: Json, entry: Json) -> str:
        for claim in owned_by(pod, self._claims):
            annotations = claim["metadata"].get("annotations") or {}
            if annotations.get(_ENTRY) == entry["name"]:
                return str(claim["metadata"]["name"])
        namespace = pod["metadata"]["namespace"]
        template = self._templates.get(namespace, entry["resourceClaimTemplateName"])
        if template is None:
            self._failed(
                pod,
                entry,
                f'resource claim template "{entry["resourceClaimTemplateName"]}": '
                f'resourceclaimtemplate.resource.k8s.io "{entry["resourceClaimTemplateName"]}" '
                "not found",
            )
            return ""
        meta = template["spec"].get("metadata") or {}
        body = {
            "metadata": {
                "generateName": f"{pod['metadata']['name']}-{entry['name']}-",
                "namespace": namespace,
                "labels": meta.get("labels") or {},
                "annotations": (meta.get("annotations") or {}) | {_ENTRY: entry["name"]},
                "ownerReferences": [owner_reference(pod, PODS)],
            },
            "spec": template["spec"]["spec"],
        }
        try:
            claim = await self._api.create(CLAIMS, body)
        except ApiError as error:
            if error.status in {0, 429} or error.status >= 500:
                raise
            self._failed(pod, entry, f"create ResourceClaim : {error.message}")
            return ""
        self._claims.assume(claim)
        return str(claim["metadata"]["name"])

    def _failed(self, pod: Json, entry: Json, why: str) -> None:
        self._recorder.record(
            pod,
            "FailedResourceClaimCreation",
            f"PodResourceClaim {entry['name']}: {why}",
            component=_COMPONENT,
            warning=True,
        )

    # For claims.

    async def _free(self, key: Key) -> None:
        claim = self._claims.get(*key)
        if claim is None:
            return
        status = claim.get("status") or {}
        users = status.get("reservedFor") or []
        staying = [user for user in users if self._uses(key[0], user)]
        if len(staying) < len(users):
            claim = await self._give_back(claim, staying)
            status = claim.get("status") or {}
        if not status.get("reservedFor") and "allocation" in status and is_going(claim):
            claim = await self._give_back(claim, [])
            status = claim.get("status") or {}
        if is_going(claim) and "allocation" not in status:
            await self._unprotect(claim)
        elif not is_going(claim) and self._is_left_over(claim):
            await self._api.delete(CLAIMS, *key, uid=claim["metadata"]["uid"])

    async def _give_back(self, claim: Json, users: list[Json]) -> Json:
        """The last user takes the allocation along."""
        status = dict(claim.get("status") or {})
        status["reservedFor"] = users
        if not users:
            status = {}
        changed = await self._api.replace(CLAIMS, claim | {"status": status}, "status")
        self._claims.assume(changed)
        if not users and not is_going(claim):
            await self._unprotect(changed)
        return changed

    async def _unprotect(self, claim: Json) -> None:
        finalizers = claim["metadata"].get("finalizers") or []
        if FINALIZER in finalizers:
            meta = claim["metadata"] | {"finalizers": [f for f in finalizers if f != FINALIZER]}
            self._claims.assume(await self._api.replace(CLAIMS, claim | {"metadata": meta}))

    def _uses(self, namespace: str, user: Json) -> bool:
        if user.get("resource") != "pods":
            return True
        pod = self._pods.get(namespace, user["name"])
        return pod is not None and pod["metadata"]["uid"] == user["uid"] and not is_done(pod)

    def _is_left_over(self, claim: Json) -> bool:
        """Made for a pod that has finished; when the pod is gone the garbage collector acts."""
        owner = controller_of(claim)
        if owner is None or owner["kind"] != "Pod":
            return False
        pod = self._pods.get(claim["metadata"]["namespace"], owner["name"])
        return pod is not None and pod["metadata"]["uid"] == owner["uid"] and is_done(pod)
