"""Migrations: what is to move, how far it has come, and why. Rows are the truth; a worker that
starts anew goes on from them."""

from typing import Any

from django.db import models
from django.db.models import Q

from apps.catalog.models import PatternVersion
from apps.common.models import Leased, TimeStamped
from apps.deployments.models import Deployment
from apps.inventory.models import Cluster
from apps.rollouts.words import Stage as Stage
from apps.rollouts.words import State as State
from apps.tenancy.models import Tenant, dns_label
from domain.gates import Verdict
from domain.rollout.words import ENDS, Phase

_ENDS = sorted(state.value for state in ENDS)


class Migration(TimeStamped, Leased):
    """A set of workloads that moves from the device plugin to DRA in one cluster.

    `scope` says what was chosen: {"kind": "deployments" | "tenant" | "resource" | "node-pool",
    "names": [...]}. `settings` is what domain.rollout.settings reads: steps, gates, webhooks,
    approvals. `tenant` is set when all of it belongs to one tenant, whose members then see it.
    What a person wants is in `wanted` (approved stages, paused, rollback, freeze, retire …); the
    reconciler alone writes state, waiting and what follows.
    """

    name = models.CharField(max_length=50, unique=True, validators=[dns_label])
    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="migrations")
    tenant = models.ForeignKey(
        Tenant, models.PROTECT, null=True, blank=True, related_name="migrations"
    )
    scope = models.JSONField(default=dict)
    settings = models.JSONField(default=dict)
    wanted = models.JSONField(default=dict, blank=True)
    created_by = models.ForeignKey(
        "tenancy.User", models.PROTECT, null=True, blank=True, related_name="+"
    )

    stage = models.CharField(max_length=20, choices=Stage, default=Stage.INVENTORY)
    state = models.CharField(max_length=15, choices=State, default=State.DRAFT)
    # What it waits for, in one word; who can end that; and the sentence.
    waiting_for = models.CharField(max_length=40, blank=True)
    owner = models.CharField(max_length=150, blank=True)
    reason = models.TextField(blank=True)
    # Why it goes back, or was frozen: the first cause, whatever is waited for since.
    cause = models.TextField(blank=True)
    stage_since = models.DateTimeField(null=True, blank=True)
    state_since = models.DateTimeField(null=True, blank=True)
    generation = models.PositiveIntegerField(default=1)

    # What the stages found, as JSON of domain.rollout's mapping, preflight, parity, and shadow.
    plan = models.JSONField(default=dict, blank=True)
    preflight = models.JSONField(default=dict, blank=True)
    parity = models.JSONField(default=dict, blank=True)
    shadow = models.JSONField(default=dict, blank=True)
    # The signed bundle of evidence, once it ended.
    evidence = models.JSONField(default=dict, blank=True)
    # Sealed; signs the webhooks of this migration.
    hook_secret = models.BinaryField(default=bytes, editable=False)

    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    rollback_began_at = models.DateTimeField(null=True, blank=True)
    rollback_ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]
        indexes = [
            models.Index(
                fields=["decided_at"],
                condition=Q(started_at__isnull=False) & Q(ended_at=None),
                name="migration_under_way",
            ),
            models.Index(fields=["state", "id"], name="migration_state"),
            models.Index(fields=["name", "id"], name="migration_name"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=~Q(state__in=_ENDS) | Q(ended_at__isnull=False),
                name="migration_end_has_a_time",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_over(self) -> bool:
        return self.ended_at is not None


class Wave(TimeStamped):
    """Workloads, or nodes, that go together. Number 0 is the canary.

    `blackout` lists hours in UTC in which nothing new begins: [{"from": "08:00", "to": "18:00",
    "days": [0, 1, 2, 3, 4]}].
    """

    migration = models.ForeignKey(Migration, models.CASCADE, related_name="waves")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=60, blank=True)
    concurrency = models.PositiveIntegerField(default=1)
    blackout = models.JSONField(default=list, blank=True)

    class Meta:
        ordering = ["migration", "number"]
        constraints = [
            models.UniqueConstraint(fields=["migration", "number"], name="wave_number"),
        ]

    def __str__(self) -> str:
        return self.name or f"Wave {self.number}"


class Workload(TimeStamped):
    """One thing in the scope of a migration: a deployment that moves, or a workload that the
    portal does not manage, which is listed and never touched (`deployment` is then null).
    """

    class Way(models.TextChoices):
        CLAIMS = "claims", "Claims"
        BRIDGE = "bridge", "Extended-resource bridge"
        NONE = "none", "Not supported"

    migration = models.ForeignKey(Migration, models.CASCADE, related_name="workloads")
    wave = models.ForeignKey(Wave, models.SET_NULL, null=True, blank=True, related_name="workloads")
    deployment = models.ForeignKey(
        Deployment, models.PROTECT, null=True, blank=True, related_name="moves"
    )
    kind = models.CharField(max_length=60, default="Deployment")
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    way = models.CharField(max_length=10, choices=Way, default=Way.CLAIMS)
    pattern_version = models.ForeignKey(
        PatternVersion, models.PROTECT, null=True, blank=True, related_name="+"
    )
    params = models.JSONField(default=dict, blank=True)
    # Why it cannot move, when `way` is none; else what was found out about it.
    finding = models.TextField(blank=True)
    mapping = models.JSONField(default=dict, blank=True)
    diff = models.TextField(blank=True)
    shadow = models.JSONField(default=dict, blank=True)
    nodes = models.JSONField(default=list, blank=True)

    old_pool = models.CharField(max_length=10, blank=True)
    new_pool = models.CharField(max_length=10, blank=True)
    replicas = models.PositiveIntegerField(default=0)
    # Of what the deployment serves, as it was when its present step began to be judged.
    release = models.CharField(max_length=64, blank=True)
    began_at = models.DateTimeField(null=True, blank=True)
    phase = models.CharField(
        max_length=15, choices=[(one.value, one.value) for one in Phase], default=Phase.WAITING
    )
    phase_since = models.DateTimeField(null=True, blank=True)
    step = models.PositiveIntegerField(default=0)
    step_since = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["migration", "wave__number", "namespace", "name"]
        constraints = [
            models.UniqueConstraint(
                fields=["migration", "kind", "namespace", "name"], name="workload_once"
            ),
        ]
        indexes = [models.Index(fields=["deployment"], name="workload_deployment")]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Study(TimeStamped, Leased):
    """What a stage looked at, computed by a task: plan, preflight, shadow or report; the newest of
    a kind counts.
    """

    class Kind(models.TextChoices):
        PLAN = "plan", "Plan"
        PREFLIGHT = "preflight", "Preflight"
        SHADOW = "shadow", "Shadow"
        REPORT = "report", "Report"

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"

    migration = models.ForeignKey(Migration, models.CASCADE, related_name="studies")
    kind = models.CharField(max_length=10, choices=Kind)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    body = models.JSONField(default=dict, blank=True)
    problem = models.TextField(blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    asked_by = models.ForeignKey(
        "tenancy.User", models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "studies"
        indexes = [models.Index(fields=["migration", "kind", "-id"], name="study_newest")]

    def __str__(self) -> str:
        return f"{self.kind} of {self.migration}"


class NodeConversion(TimeStamped, Leased):
    """One node on its way from device plugin to DRA, or back by the same recipe.

    `was_cordoned` is how the node was found, so that the way back leaves it so.
    """

    class Direction(models.TextChoices):
        FORTH = "forth", "To DRA"
        BACK = "back", "Back to the device plugin"

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        RUNNING = "running", "Running"
        BLOCKED = "blocked", "Blocked"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"

    migration = models.ForeignKey(Migration, models.CASCADE, related_name="conversions")
    wave = models.ForeignKey(
        Wave, models.SET_NULL, null=True, blank=True, related_name="conversions"
    )
    node = models.CharField(max_length=253)
    direction = models.CharField(max_length=10, choices=Direction, default=Direction.FORTH)
    recipe = models.JSONField(default=dict, blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    step = models.CharField(max_length=40, blank=True)
    cause = models.TextField(blank=True)
    owner = models.CharField(max_length=200, blank=True)
    was_cordoned = models.BooleanField(null=True, blank=True)
    log = models.JSONField(default=list, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["migration", "node"]
        constraints = [
            models.UniqueConstraint(fields=["migration", "node"], name="conversion_once_per_node"),
        ]

    def __str__(self) -> str:
        return self.node


class Drill(TimeStamped, Leased):
    """A timed rehearsal of going back, before the old path may be retired."""

    class State(models.TextChoices):
        RUNNING = "running", "Running"
        PASSED = "passed", "Passed"
        FAILED = "failed", "Failed"
        LEFT = "left", "Left"

    migration = models.ForeignKey(Migration, models.CASCADE, related_name="drills")
    state = models.CharField(max_length=10, choices=State, default=State.RUNNING)
    step = models.CharField(max_length=40, blank=True)
    cause = models.TextField(blank=True)
    owner = models.CharField(max_length=200, blank=True)
    log = models.JSONField(default=list, blank=True)
    seconds = models.FloatField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    asked_by = models.ForeignKey(
        "tenancy.User", models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"drill of {self.migration}"


class GateSample(models.Model):
    """One judgement of one gate: the window, both figures, how many requests, the verdict.

    `step` is the workload's step it belongs to. `query` is what was asked, resolved.
    """

    migration = models.ForeignKey(Migration, models.CASCADE, related_name="samples")
    workload = models.ForeignKey(
        Workload, models.CASCADE, null=True, blank=True, related_name="samples"
    )
    gate = models.CharField(max_length=60)
    stage = models.CharField(max_length=20, choices=Stage)
    step = models.PositiveIntegerField(default=0)
    weight = models.PositiveSmallIntegerField(default=0)
    at = models.DateTimeField()
    start = models.DateTimeField()
    end = models.DateTimeField()
    verdict = models.CharField(max_length=15, choices=[(one.value, one.value) for one in Verdict])
    reason = models.TextField(blank=True)
    dry_run = models.BooleanField(default=False)
    # {"value", "state", "detail", "requests", "worst_pod", "worst"} of each side.
    candidate = models.JSONField(default=dict, blank=True)
    current = models.JSONField(default=dict, blank=True)
    query = models.TextField(blank=True)

    class Meta:
        ordering = ["at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["migration", "workload", "gate", "at"],
                name="one_sample_per_time",
                nulls_distinct=False,
            ),
        ]
        indexes = [models.Index(fields=["migration", "gate", "at"], name="sample_of_gate")]

    def __str__(self) -> str:
        return f"{self.gate} {self.verdict} at {self.at:%H:%M:%S}"

    def figures(self) -> dict[str, Any]:
        return {"candidate": self.candidate, "current": self.current}


class Decision(models.Model):
    """What was decided, by the portal or a person, and what was seen when it was.

    Equal ones in a row are one row that counts (`times`, `last_at`).
    """

    migration = models.ForeignKey(Migration, models.CASCADE, related_name="decisions")
    workload = models.ForeignKey(
        Workload, models.SET_NULL, null=True, blank=True, related_name="decisions"
    )
    at = models.DateTimeField()
    last_at = models.DateTimeField()
    times = models.PositiveIntegerField(default=1)
    actor_name = models.CharField(max_length=150, default="claimyard")
    action = models.CharField(max_length=40)
    argument = models.JSONField(default=dict, blank=True)
    reason = models.TextField()
    stage = models.CharField(max_length=20, choices=Stage)
    seen = models.JSONField(default=dict, blank=True)
    # What came of carrying it out, when that was refused.
    problem = models.TextField(blank=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["migration", "-id"], name="decision_newest")]

    def __str__(self) -> str:
        return f"{self.action}: {self.reason}"[:200]


class Delivery(models.Model):
    """One webhook call of a migration: at what point, how often tried, and what was answered.

    `gate` points (confirm, before, after) hold the migration until `state` is accepted.
    """

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        ACCEPTED = "accepted", "Accepted"
        REFUSED = "refused", "Refused"
        GIVEN_UP = "given-up", "Given up"

    migration = models.ForeignKey(Migration, models.CASCADE, related_name="deliveries")
    hook = models.CharField(max_length=60)
    point = models.CharField(max_length=20)
    key = models.CharField(max_length=120)  # the same point of the same step is one delivery
    url = models.CharField(max_length=500)
    body = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    attempts = models.PositiveIntegerField(default=0)
    next_at = models.DateTimeField()
    status = models.PositiveIntegerField(null=True, blank=True)
    answer = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "deliveries"
        constraints = [
            models.UniqueConstraint(fields=["migration", "hook", "key"], name="delivery_once"),
        ]
        indexes = [
            models.Index(fields=["next_at"], condition=Q(state="waiting"), name="delivery_waiting")
        ]

    def __str__(self) -> str:
        return f"{self.hook} {self.point} {self.state}"
