"""What a tenant's editor does in a running demo: `act.py create NAME`, `act.py retire NAME`.

`act.py widen 64` gives the tenant so many cards. And what its rows say, as JSON: `act.py tell NAME`
of a deployment, `act.py leader CLUSTER` of its mirror.

A process of its own, with the environment of the demo's web server.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


def create(name: str) -> None:
    from apps.deployments import demo, services
    from apps.tenancy.models import Tenant, User
    from domain.asked import asked_from

    editor, tenant = User.objects.get(username="editor"), Tenant.objects.get(slug="chat")
    content = {**demo.DEPLOYMENTS[0][1], "name": name}
    content["pools"] = [{**pool, "replicas": 1} for pool in content["pools"]]
    asked = asked_from({"cluster": "demo", "image": demo.IMAGE} | content)
    services.create_deployment(actor=editor, tenant=tenant, asked=asked)


def widen(cards: str) -> None:
    """Quota is not what these tests are about, and a retired deployment gives it back later."""
    from apps.inventory.models import Cluster
    from apps.quotas import services
    from apps.tenancy.models import Tenant, User

    services.set_quotas(
        actor=User.objects.get(username="admin"),
        tenant=Tenant.objects.get(slug="chat"),
        cluster=Cluster.objects.get(slug="demo"),
        limits={"h100": int(cards)},
    )


def retire(name: str) -> None:
    from apps.deployments import selectors, services
    from apps.tenancy.models import Tenant, User

    editor, tenant = User.objects.get(username="editor"), Tenant.objects.get(slug="chat")
    deployment = selectors.deployment_of(tenant, name)
    services.retire_deployment(actor=editor, deployment=deployment)


def tell(name: str) -> None:
    from apps.audit.models import Entry
    from apps.deployments.models import Deployment

    (row,) = Deployment.objects.filter(tenant__slug="chat", name=name)
    entries = Entry.objects.filter(subject_kind="deployments.deployment", subject_id=row.pk)
    found = {
        "settled": row.is_settled,
        "retired": row.retired_at is not None,
        "applied": (row.condition("Applied") or {}).get("status"),
        "pools": [pool.observed_generation == pool.generation for pool in row.pools.all()],
        "audit": list(entries.order_by("pk").values_list("verb", flat=True)),
    }
    sys.stdout.write(json.dumps(found))


def leader(cluster: str) -> None:
    from apps.inventory.models import WatchLease

    lease = WatchLease.objects.get(cluster__slug=cluster)
    sys.stdout.write(json.dumps({"holder": lease.holder, "epoch": lease.epoch}))


if __name__ == "__main__":
    import django

    django.setup()
    verb, subject = sys.argv[1:]
    verbs = {"create": create, "widen": widen, "retire": retire, "tell": tell, "leader": leader}
    verbs[verb](subject)
