"""Model servers: blocks, batching, sizes, command lines and the metrics page."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import metrics as reader
from simulator.fleet.scenario import Traffic
from simulator.fleet.serving.arguments import BadArguments, parse
from simulator.fleet.serving.blocks import BlockPool, Chain
from simulator.fleet.serving.engine import Engine, EngineConfig, Request
from simulator.fleet.serving.metrics import Metrics
from simulator.fleet.serving.model import OutOfMemory, Share, engine_config, model_of
from simulator.fleet.serving.server import ModelServer
from simulator.fleet.traffic import Stream, rate_at

CONFIG = EngineConfig(
    blocks=1000,
    step_seconds=0.01,
    prefill_token_seconds=0.0001,
    context_token_seconds=0.0,
    max_running=4,
)
H100 = Share(81559, 989.0, 3350.0)
NUMBERS = itertools.count(1)


def engine(**more: object) -> Engine:
    config = EngineConfig(**{name: getattr(CONFIG, name) for name in CONFIG.__slots__} | more)
    return Engine(config, Metrics("m", 0.0), 0.0)


def request(at: float = 0.0, prompt: int = 100, output: int = 10, chain: Chain = ()) -> Request:
    return Request(
        number=next(NUMBERS), arrived=at, prompt=chain, prompt_tokens=prompt, output_tokens=output
    )


def counted(one: Engine, name: str, value: str = "") -> float:
    return one.metrics.counters[name, value]


# Blocks.


def test_leading_segments_that_are_there_count_as_hits() -> None:
    pool = BlockPool(100)
    assert pool.hold((("sys", 10), ("a", 5)), 2)
    assert pool.hits((("sys", 10), ("b", 5))) == 10
    assert pool.hits((("b", 5), ("sys", 10))) == 0


def test_shared_blocks_are_held_once() -> None:
    pool = BlockPool(100)
    for key in "abc":
        assert pool.hold((("sys", 10), (key, 5)), 1)
    assert pool.used == 10 + 3 * 6


def test_what_nobody_holds_stays_until_room_is_needed() -> None:
    pool = BlockPool(20)
    assert pool.hold((("old", 8),), 0)
    pool.release((("old", 8),), 0)
    assert (pool.used, pool.hits((("old", 8),))) == (0, 8)
    assert pool.hold((("new", 15),), 0)
    assert pool.hits((("old", 8),)) == 5


def test_a_prompt_that_does_not_fit_takes_nothing() -> None:
    pool = BlockPool(10)
    assert pool.hold((("a", 6),), 0)
    assert not pool.hold((("b", 3),), 2)
    assert pool.used == 6


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(1, 9), st.integers(0, 5), st.booleans()),
        max_size=60,
    )
)
def test_blocks_always_add_up(steps: list[tuple[int, int, int, bool]]) -> None:
    pool = BlockPool(40)
    held: list[tuple[Chain, int]] = []
    for key, blocks, private, release in steps:
        if release and held:
            chain, own = held.pop(0)
            pool.release(chain, own, (("turn", len(held)), min(own, 2)))
        elif pool.hold(((key, blocks),), private):
            held.append((((key, blocks),), private))
        assert 0 <= pool.used <= pool.total
        assert pool.used + pool.available == pool.total
    for chain, own in held:
        pool.release(chain, own)
    assert pool.used == 0


# Batching.


def test_one_request_takes_prefill_and_a_step_per_token() -> None:
    one = engine()
    one.submit(request(prompt=100, output=11))
    one.advance(10.0)
    assert counted(one, "request_success", "stop") == 1
    assert counted(one, "generation_tokens") == 11
    latency = one.metrics.histograms["e2e_request_latency_seconds"]
    assert latency.sum == pytest.approx(0.01 + 100 * 0.0001 + 10 * 0.01)


def test_time_to_first_token_grows_with_the_queue() -> None:
    quiet, busy = engine(), engine()
    quiet.submit(request())
    for _ in range(20):
        busy.submit(request(output=100))
    quiet.advance(60.0)
    busy.advance(60.0)
    means = [
        one.metrics.histograms["time_to_first_token_seconds"].sum
        / one.metrics.histograms["time_to_first_token_seconds"].count
        for one in (quiet, busy)
    ]
    assert means[1] > 10 * means[0]


def test_no_more_run_than_may() -> None:
    one = engine()
    for _ in range(9):
        one.submit(request(output=1000))
    one.advance(0.5)
    assert one.gauges()["num_requests_running"] == 4
    assert one.gauges()["num_requests_waiting"] == 5


def test_a_cached_start_is_not_computed_again() -> None:
    one = engine()
    chain = (("sys", 6),)
    one.submit(request(at=0.0, chain=chain))
    one.submit(request(at=5.0, chain=chain))
    one.advance(10.0)
    assert counted(one, "prefix_cache_hits") == 96
    assert counted(one, "prompt_tokens_by_source", "local_compute") == 104


def test_a_full_cache_lets_the_youngest_start_over() -> None:
    one = engine(blocks=20)
    for _ in range(3):
        one.submit(request(prompt=90, output=120))
    one.advance(60.0)
    assert counted(one, "num_preemptions") > 0
    assert counted(one, "request_success", "stop") == 3
    assert one.pool.used == 0


def test_a_prompt_larger_than_the_cache_ends_in_an_error() -> None:
    one = engine(blocks=5)
    one.submit(request(prompt=1000))
    one.advance(1.0)
    assert counted(one, "request_success", "error") == 1


def test_stopping_aborts_what_is_there_and_frees_its_blocks() -> None:
    one = engine()
    for _ in range(6):
        one.submit(request(output=1000))
    one.advance(0.3)
    one.stop()
    assert counted(one, "request_success", "abort") == 6
    assert one.pool.used == 0 and one.is_idle


@given(st.integers(0, 10**6), st.integers(12, 400))
def test_every_request_ends_once_and_leaves_no_block(seed: int, blocks: int) -> None:
    draw = random.Random(seed)
    one = engine(blocks=blocks)
    ended: list[int] = []
    for n in range(25):
        item = request(
            at=n * draw.random(),
            prompt=draw.randint(1, 300),
            output=draw.randint(1, 60),
            chain=((draw.randint(0, 3), draw.randint(0, 4)),) if n % 2 else (),
        )
        held = sum(size for _, size in item.prompt) * 16
        item.prompt_tokens = max(item.prompt_tokens, held + 1)
        item.finished = lambda r, _: ended.append(r.number)
        one.submit(item)
    one.advance(10**6)
    assert len(ended) == len(set(ended)) == 25
    assert one.is_idle and one.pool.used == 0


def test_the_same_requests_give_the_same_figures_however_often_one_looks() -> None:
    coarse, fine = engine(), engine()
    for one in (coarse, fine):
        for n in range(10):
            one.submit(request(at=n * 0.05, prompt=50 + n, output=20))
    coarse.advance(30.0)
    for tick in range(1, 3001):
        fine.advance(tick / 100)
    for name in ("generation_tokens", "prompt_tokens"):
        assert counted(coarse, name) == counted(fine, name)


# Sizes.


@pytest.mark.parametrize(
    ("name", "billions", "active", "each"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", 8, 8, 2),
        ("Llama-3.3-70B-Instruct-FP8", 70, 70, 1),
        ("Qwen/Qwen3-30B-A3B", 30, 3, 2),
        ("mistralai/Mixtral-8x7B-v0.1", 56, 14, 2),
        ("Qwen2.5-0.5B", 0.5, 0.5, 2),
        ("my-model", 8, 8, 2),
        ("Llama-2-13b-chat-AWQ", 13, 13, 0.55),
    ],
)
def test_sizes_are_read_from_names(name: str, billions: float, active: float, each: float) -> None:
    model = model_of(name)
    assert model.parameters == pytest.approx(billions * 1e9)
    assert model.active == pytest.approx(active * 1e9)
    assert model.bytes_each == each


def config(name: str, shares: list[Share], max_length: int = 0) -> EngineConfig:
    return engine_config(
        model_of(name), shares, utilization=0.9, max_running=256, max_length=max_length
    )


def test_more_cards_are_faster_and_hold_more() -> None:
    one, two = config("x-8b", [H100]), config("x-8b", [H100, H100])
    assert two.step_seconds < one.step_seconds
    assert two.blocks > 2 * one.blocks


@pytest.mark.parametrize(
    ("name", "shares", "length", "says"),
    [
        ("x-70b", [H100], 0, "CUDA out of memory"),
        ("x-38b", [H100], 0, "No available memory for the cache blocks"),
        ("x-8b", [Share(19968, 80.0, 500.0)], 131072, r"max seq len \(131072\)"),
    ],
)
def test_what_does_not_fit_says_so(name: str, shares: list[Share], length: int, says: str) -> None:
    with pytest.raises(OutOfMemory, match=says):
        config(name, shares, length)


# Command lines.


def test_a_command_line_is_read() -> None:
    words = ["--model", "a/b-8b", "--tensor-parallel-size=2", "--max-model-len", "32k", "--port",
             "9000", "--enable-prefix-caching", "--shutdown-timeout", "45"]  # fmt: skip
    found = parse(words)
    assert (found.model, found.parallel, found.port) == ("a/b-8b", 2, 9000)
    assert (found.max_length, found.shutdown_seconds) == (32000, 45)
    assert parse(["serve", "a-8b"]).served_name == "a-8b"
    assert parse(["a-8b", "-tp", "2"]).parallel == 2
    assert parse(["a-8b", "--tensor_parallel_size=4"]).parallel == 4


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "required: --model"),
        (["--model", "m", "--frobnicate"], "unrecognized arguments: --frobnicate"),
        (["--model"], "argument --model: expected one argument"),
        (["m", "--max-num-seqs", "many"], "invalid int value: 'many'"),
        (["m", "--gpu-memory-utilization", "2"], "invalid float value"),
        (["m", "n"], "unrecognized arguments: m n"),
    ],
)
def test_a_wrong_command_line_is_refused_as_argparse_does(words: list[str], says: str) -> None:
    with pytest.raises(BadArguments, match=says):
        parse(words)


# The page.


def server(name: str = "a-8b") -> ModelServer:
    return ModelServer(parse(["--model", name]), CONFIG, lambda: 5.0, 1000.0)


def test_the_portals_reader_understands_the_page() -> None:
    one = server()
    one.engine.now = 0.0
    for n in range(5):
        one.engine.submit(request(at=n * 0.1, chain=(("sys", 3),)))
    reading = reader.read(one.page())
    assert reading.gauges["running"] == 0
    assert reading.counters["tokens"] == 50
    assert reading.counters["prompt_tokens"] == 500
    assert max(reading.histograms["ttft"].values()) == 5


def test_every_label_value_exists_from_the_start() -> None:
    page = server().page()
    assert 'finished_reason="error"} 0.0' in page
    assert 'vllm:prefix_cache_queries_total{engine="0",model_name="a-8b"} 0.0' in page


def test_a_hostile_model_name_cannot_break_the_page() -> None:
    page = server('a"} 1\nevil').page()
    assert reader.read(page).gauges["running"] == 0
    assert "\nevil" not in page


# Traffic.


def traffic(**more: object) -> Traffic:
    fields = {
        "namespace": "*", "service": "*", "rate": 10.0, "swing": 0.5, "day_seconds": 86400.0,
        "prompt_tokens": 300, "prompt_sigma": 0.5, "output_tokens": 50, "output_sigma": 0.5,
        "prefixes": 3, "prefix_tokens": 256, "follow_ups": 0.5,
    }  # fmt: skip
    return Traffic(**fields | more)  # type: ignore[arg-type]


def stream(seed: str = "s", **more: object) -> Stream:
    return Stream(traffic(**more), "team-a", random.Random(seed), next_at=0.0)


def arrivals(one: Stream, seconds: int) -> list[float]:
    return [at for second in range(seconds) for at in one.due(float(second), float(second))]


def test_a_day_is_busiest_at_noon_and_its_mean_is_the_rate() -> None:
    rates = [rate_at(traffic(), hour * 3600.0) for hour in range(24)]
    assert max(rates) == rates[12] == pytest.approx(15.0)
    assert min(rates) == rates[0] == pytest.approx(5.0)
    assert sum(rates) / 24 == pytest.approx(10.0)


def test_arrivals_follow_rate_and_seed() -> None:
    times = arrivals(stream(swing=0.0), 300)
    assert 2700 < len(times) < 3300
    assert times == arrivals(stream(swing=0.0), 300)
    assert times != arrivals(stream("t", swing=0.0), 300)


def test_a_pause_is_not_made_up_for() -> None:
    one = stream(swing=0.0)
    arrivals(one, 10)
    assert len(one.due(10000.0, 10000.0)) < 30


def test_no_rate_means_no_request() -> None:
    assert arrivals(stream(rate=0.0), 10) == []


def test_replicas_share_prefixes_so_the_cache_finds_some() -> None:
    one, target = stream(swing=0.0), server()
    target.engine.now = 0.0
    for at in arrivals(one, 5):
        target.engine.submit(one.request(at, target))
    target.engine.advance(500.0)
    queries = counted(target.engine, "prefix_cache_queries")
    hits = counted(target.engine, "prefix_cache_hits")
    assert 0.2 < hits / queries < 0.95
