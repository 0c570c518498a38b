"""The demo is made by the product's own services, and twice is once."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.audit.models import Entry
from apps.catalog.models import Approval, ClassVersion
from apps.deployments.models import Deployment
from apps.inventory.models import Cluster
from apps.tenancy.models import User

pytestmark = pytest.mark.django_db


def fill(kubeconfig: str) -> None:
    call_command("fill_demo", kubeconfig=Path(kubeconfig))


@pytest.fixture
def password(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("CLAIMYARD_DEMO_PASSWORD", "long enough for a demo")
    return "long enough for a demo"


def test_it_makes_everything_once(simulated: Any, password: str) -> None:
    fill(simulated.kubeconfig)
    entries = Entry.objects.count()
    assert User.objects.get(username="editor").check_password(password)
    assert Deployment.objects.count() == 5
    assert Approval.objects.filter(state="pending").count() == 1
    assert ClassVersion.objects.filter(state="approved").count() == 3
    fill(simulated.kubeconfig)
    assert Entry.objects.count() == entries


def test_an_address_that_moved_is_followed(simulated: Any, password: str, tmp_path: Path) -> None:
    fill(simulated.kubeconfig)
    moved = tmp_path / "kubeconfig"
    moved.write_text(
        Path(simulated.kubeconfig).read_text().replace(simulated.url, "https://127.0.0.1:9")
    )
    fill(str(moved))
    assert Cluster.objects.get().server == "https://127.0.0.1:9"


def test_without_a_password_it_says_so(simulated: Any) -> None:
    with pytest.raises(CommandError, match="CLAIMYARD_DEMO_PASSWORD"):
        fill(simulated.kubeconfig)
    assert not User.objects.exists()
