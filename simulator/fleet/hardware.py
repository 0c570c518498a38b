"""The accelerators that a scenario may name, with what NVML and `nvidia-smi mig -lgip` report.

Compute and bandwidth are the data sheets' dense 16-bit figures; the model servers' speed follows
from them.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class MigProfile:
    """A GPU instance profile: `size` and `starts` are in memory slices, of which a card has 8."""

    name: str
    profile_id: int
    memory_mib: int
    multiprocessors: int
    copy_engines: int
    decoders: int
    jpeg_engines: int
    ofa_engines: int
    size: int
    starts: tuple[int, ...]

    @property
    def slices(self) -> int:
        """Compute slices, the number before the `g`."""
        return int(self.name.partition("g")[0])


@dataclass(frozen=True, slots=True)
class CardModel:
    """A product. `memory_mib` is NVML's total, which is more than MIG's largest profile offers."""

    key: str
    product: str
    architecture: str
    family: str
    compute: tuple[int, int]
    memory_mib: int
    multiprocessors: int
    tflops: float
    bandwidth_gbps: float
    nvlink: bool = False
    profiles: tuple[MigProfile, ...] = field(default=())

    def profile(self, name: str) -> MigProfile:
        """Raises KeyError when this product has no such profile."""
        for profile in self.profiles:
            if profile.name == name:
                return profile
        raise KeyError(name)


def _profiles(
    names: tuple[str, ...],
    memory: tuple[int, int, int, int],
    units: tuple[int, int, int, int, int, int],
    engines: tuple[tuple[int, int, int, int], ...],
) -> tuple[MigProfile, ...]:
    """The seven profiles that A100 and H100 share, in the order that `-lgip` prints them."""
    shapes = (
        (19, memory[0], units[0], 1, (0, 1, 2, 3, 4, 5, 6)),
        (20, memory[0], units[0], 1, (0, 1, 2, 3, 4, 5, 6)),
        (15, memory[1], units[1], 2, (0, 2, 4, 6)),
        (14, memory[1], units[2], 2, (0, 2, 4)),
        (9, memory[2], units[3], 4, (0, 4)),
        (5, memory[2], units[4], 4, (0,)),
        (0, memory[3], units[5], 8, (0,)),
    )
    return tuple(
        MigProfile(name, number, mib, sms, *engine, size, starts)
        for name, (number, mib, sms, size, starts), engine in zip(
            names, shapes, engines, strict=True
        )
    )


_NAMES_80 = ("1g.10gb", "1g.10gb+me", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb")

_A100_PROFILES = _profiles(
    _NAMES_80,
    (9728, 19968, 40192, 80896),
    (14, 14, 28, 42, 56, 98),
    (
        (1, 0, 0, 0),
        (1, 1, 1, 1),
        (1, 1, 0, 0),
        (2, 1, 0, 0),
        (3, 2, 0, 0),
        (4, 2, 0, 0),
        (7, 5, 1, 1),
    ),
)

_H100_PROFILES = _profiles(
    _NAMES_80,
    (9984, 20096, 40448, 81152),
    (16, 26, 32, 60, 64, 132),
    (
        (1, 1, 1, 0),
        (1, 1, 1, 1),
        (1, 1, 1, 0),
        (2, 2, 2, 0),
        (3, 3, 3, 0),
        (4, 4, 4, 0),
        (8, 7, 7, 1),
    ),
)

MODELS: dict[str, CardModel] = {
    model.key: model
    for model in (
        CardModel(
            key="h100-sxm",
            product="NVIDIA H100 80GB HBM3",
            architecture="Hopper",
            family="hopper",
            compute=(9, 0),
            memory_mib=81559,
            multiprocessors=132,
            tflops=989.0,
            bandwidth_gbps=3350.0,
            nvlink=True,
            profiles=_H100_PROFILES,
        ),
        CardModel(
            key="a100-sxm-80",
            product="NVIDIA A100-SXM4-80GB",
            architecture="Ampere",
            family="ampere",
            compute=(8, 0),
            memory_mib=81920,
            multiprocessors=108,
            tflops=312.0,
            bandwidth_gbps=2039.0,
            nvlink=True,
            profiles=_A100_PROFILES,
        ),
        CardModel(
            key="l40s",
            product="NVIDIA L40S",
            architecture="Ada Lovelace",
            family="ada-lovelace",
            compute=(8, 9),
            memory_mib=46068,
            multiprocessors=142,
            tflops=362.0,
            bandwidth_gbps=864.0,
        ),
        CardModel(
            key="l4",
            product="NVIDIA L4",
            architecture="Ada Lovelace",
            family="ada-lovelace",
            compute=(8, 9),
            memory_mib=23034,
            multiprocessors=58,
            tflops=121.0,
            bandwidth_gbps=300.0,
        ),
    )
}
