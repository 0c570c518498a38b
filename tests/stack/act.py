"""What a tenant's editor does in a running demo: `act.py create NAME`, `act.py retire NAME`.

A process of its own, with the environment of the demo's web server.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


def main(verb: str, name: str) -> None:
    import django

    django.setup()

    from apps.deployments import demo, selectors, services
    from apps.tenancy.models import Tenant, User
    from domain.asked import asked_from

    editor, tenant = User.objects.get(username="editor"), Tenant.objects.get(slug="chat")
    if verb == "create":
        content = {**demo.DEPLOYMENTS[0][1], "name": name}
        content["pools"] = [{**pool, "replicas": 1} for pool in content["pools"]]
        asked = asked_from({"cluster": "demo", "image": demo.IMAGE} | content)
        services.create_deployment(actor=editor, tenant=tenant, asked=asked)
    else:
        deployment = selectors.deployment_of(tenant, name)
        services.retire_deployment(actor=editor, deployment=deployment)


if __name__ == "__main__":
    main(*sys.argv[1:])
