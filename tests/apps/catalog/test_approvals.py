"""Nothing is applied that somebody else has not approved, as it stands."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.audit.models import Entry
from apps.catalog import services, tasks
from apps.catalog.models import Approval, ClassInCluster, VersionState
from apps.catalog.selectors import pending_approvals, previous_approved
from domain.errors import IllegalTransition, InvalidValue
from tests.apps.conftest import CLASS, PATTERN, approve

pytestmark = pytest.mark.django_db


@pytest.fixture
def version(admin: Any, cluster: Any) -> Any:
    return services.create_class(actor=admin, name="h100", content=CLASS, clusters=[cluster])


@pytest.fixture
def approval(admin: Any, version: Any) -> Approval:
    return services.submit(actor=admin, version=version)


def test_approved_content_is_sent_to_its_clusters(
    approver: Any, approval: Any, version: Any, sent: Any, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        services.approve(actor=approver, approval=approval, content_hash=version.content_hash)
    version.refresh_from_db()
    assert version.state == VersionState.APPROVED
    placement = ClassInCluster.objects.get()
    assert ("reconcile_class", (placement.pk,)) in sent.messages
    assert not placement.is_settled
    assert str(Entry.objects.first()) == "approver approved catalog.classversion h100 v1"


def test_nobody_approves_their_own_work(admin: Any, approval: Any, version: Any) -> None:
    with pytest.raises(services.NotTheApprover):
        services.approve(actor=admin, approval=approval, content_hash=version.content_hash)
    version.refresh_from_db()
    assert version.state == VersionState.IN_REVIEW


def test_the_author_cannot_approve_what_another_submitted(
    admin: Any, approver: Any, version: Any
) -> None:
    approval = services.submit(actor=approver, version=version)
    with pytest.raises(services.NotTheApprover):
        services.approve(actor=admin, approval=approval, content_hash=version.content_hash)


def test_approval_binds_to_the_content_that_was_shown(
    approver: Any, approval: Any, version: Any
) -> None:
    with pytest.raises(services.StaleReview):
        services.approve(actor=approver, approval=approval, content_hash="0" * 64)
    type(version).objects.filter(pk=version.pk).update(content={"selectors": ["true"]})
    with pytest.raises(services.StaleReview):
        services.approve(actor=approver, approval=approval, content_hash=version.content_hash)


def test_content_in_review_stands_still(admin: Any, approval: Any, version: Any) -> None:
    with pytest.raises(IllegalTransition):
        services.draft_class(
            actor=admin, device_class=version.device_class, content={"selectors": ["true"]}
        )


def test_a_denial_needs_a_text_and_makes_a_draft_again(
    approver: Any, approval: Any, version: Any
) -> None:
    with pytest.raises(InvalidValue):
        services.deny(actor=approver, approval=approval, text="  ")
    services.deny(actor=approver, approval=approval, text="too wide")
    version.refresh_from_db()
    assert version.state == VersionState.DRAFT
    with pytest.raises(services.StaleReview):
        services.approve(actor=approver, approval=approval, content_hash=version.content_hash)


def test_a_denied_draft_can_be_changed_submitted_and_approved(
    admin: Any, approver: Any, approval: Any, version: Any
) -> None:
    services.deny(actor=approver, approval=approval, text="too wide")
    changed = services.draft_class(
        actor=admin, device_class=version.device_class, content={"selectors": ["false"]}
    )
    assert changed.pk == version.pk
    approve(approver, changed, admin)
    changed.refresh_from_db()
    assert changed.state == VersionState.APPROVED


def test_an_expired_review_ends(approver: Any, approval: Any, version: Any) -> None:
    Approval.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert not pending_approvals().exists()
    with pytest.raises(services.StaleReview):
        services.approve(actor=approver, approval=approval, content_hash=version.content_hash)
    tasks.expire_approvals()
    approval.refresh_from_db()
    version.refresh_from_db()
    assert (approval.state, version.state) == ("expired", "draft")


def test_a_new_class_version_takes_the_place_of_the_old(
    admin: Any, approver: Any, h100: Any
) -> None:
    second = services.draft_class(
        actor=admin, device_class=h100.device_class, content={"selectors": ["false"]}
    )
    assert second.number == 2
    assert previous_approved(second) == h100
    approve(approver, second, admin)
    h100.refresh_from_db()
    assert h100.state == VersionState.WITHDRAWN


def test_a_pattern_needs_classes_of_the_catalog(admin: Any) -> None:
    with pytest.raises(InvalidValue, match="no class 'h100'"):
        services.create_pattern(actor=admin, slug="p", name="P", content=PATTERN)


def test_a_pattern_waits_for_its_class(admin: Any, approver: Any, version: Any) -> None:
    pattern = services.create_pattern(actor=admin, slug="p", name="P", content=PATTERN)
    with pytest.raises(IllegalTransition, match="class h100 first"):
        approve(approver, pattern, admin)


def test_a_withdrawn_class_is_taken_from_its_clusters(
    admin: Any, h100: Any, sent: Any, django_capture_on_commit_callbacks: Any
) -> None:
    with pytest.raises(InvalidValue):
        services.withdraw(actor=admin, version=h100, text="")
    with django_capture_on_commit_callbacks(execute=True):
        services.withdraw(actor=admin, version=h100, text="end of life")
    assert "reconcile_class" in sent
