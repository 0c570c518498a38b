"""Version and identity of the server."""

VERSION = {
    "major": "1",
    "minor": "37",
    "emulationMajor": "1",
    "emulationMinor": "37",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "36",
    "gitVersion": "v1.37.2",
    "gitCommit": "simulated",
    "gitTreeState": "clean",
    "buildDate": "2026-11-30T00:00:00Z",
    "goVersion": "go1.26",
    "compiler": "gc",
    "platform": "linux/amd64",
}
HEALTH = ("healthz", "readyz", "livez")


def version(minor: int) -> dict[str, str]:
    """What /version answers; `minor` below 37 is an emulated version."""
    return VERSION | {
        "minor": str(minor),
        "emulationMinor": str(minor),
        "gitVersion": f"v1.{minor}.2",
    }
