"""Stages and states of domain.rollout, as pages say them."""

from django.db import models

from domain.rollout.words import Stage as StageWord
from domain.rollout.words import State as StateWord


class Stage(models.TextChoices):
    INVENTORY = StageWord.INVENTORY.value, "Inventory"
    CLASSES = StageWord.CLASSES.value, "Define classes"
    SHADOW = StageWord.SHADOW.value, "Shadow"
    CANARY = StageWord.CANARY.value, "Canary"
    EXPAND = StageWord.EXPAND.value, "Expand"


class State(models.TextChoices):
    DRAFT = StateWord.DRAFT.value, "Draft"
    RUNNING = StateWord.RUNNING.value, "Running"
    WAITING = StateWord.WAITING.value, "Waiting"
    PAUSED = StateWord.PAUSED.value, "Paused"
    FROZEN = StateWord.FROZEN.value, "Frozen"
    ROLLING_BACK = StateWord.ROLLING_BACK.value, "Rolling back"
    ROLLED_BACK = StateWord.ROLLED_BACK.value, "Rolled back"
    LEFT = StateWord.LEFT.value, "Left"
    FAILED = StateWord.FAILED.value, "Failed"
    DONE = StateWord.DONE.value, "Done"
