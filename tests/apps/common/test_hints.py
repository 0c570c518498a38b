"""A broker that is away fails nobody's work."""

from kombu import Connection

from apps.common.tasks import answer_ask
from embedded.processes import free_port


def test_a_message_that_cannot_be_sent_is_no_error() -> None:
    with Connection(f"redis://127.0.0.1:{free_port()}/0", connect_timeout=1) as nobody:
        assert answer_ask.apply_async((1,), connection=nobody, retry=False) is None  # type: ignore[call-arg]
    assert answer_ask.apply_async((1,)) is not None
