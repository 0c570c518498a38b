"""Deployments with several pools were served by one Service, so replicas were their weights."""

from typing import Any

from django.db import migrations
from django.db.models import Count, F

from domain.routing import by_replicas


def fill(apps: Any, schema_editor: Any) -> None:
    deployments = apps.get_model("deployments", "Deployment")
    deployments.objects.update(content_generation=F("generation"))
    several = deployments.objects.annotate(pool_count=Count("pools")).filter(pool_count__gt=1)
    for deployment in several:
        pools = {pool.name: pool for pool in deployment.pools.all()}
        for name, weight in by_replicas({n: p.replicas for n, p in pools.items()}).items():
            pools[name].weight = weight
            pools[name].save(update_fields=["weight"])


class Migration(migrations.Migration):
    dependencies = [("deployments", "0002_routing")]
    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
