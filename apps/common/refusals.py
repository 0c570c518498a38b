"""What a service refused, shown on the form that asked for it."""

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError

from domain.errors import DomainError, InvalidValue

Refusal = (DomainError, ValidationError)


def show(form: forms.BaseForm, refusal: DomainError | ValidationError) -> None:
    """Put each error beside its field where the form has that field, on top otherwise."""
    if isinstance(refusal, ValidationError):
        for name, messages in _by_field(refusal).items():
            known = name in form.fields
            for message in messages:
                form.add_error(name if known else None, message)
    elif isinstance(refusal, InvalidValue) and refusal.field in form.fields:
        form.add_error(refusal.field, str(refusal))
    elif isinstance(refusal, InvalidValue) and refusal.field:
        form.add_error(None, f"{refusal.field}: {refusal}")
    else:
        form.add_error(None, str(refusal))


def _by_field(error: ValidationError) -> dict[str, list[str]]:
    if hasattr(error, "error_dict"):
        return dict(error.message_dict)
    return {NON_FIELD_ERRORS: error.messages}


def sentence(refusal: DomainError | ValidationError) -> str:
    """The refusal as one message, where there is no form to show it on."""
    return " ".join(refusal.messages) if isinstance(refusal, ValidationError) else str(refusal)
