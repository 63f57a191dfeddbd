"""Lists the cases of the benchmark, with the figures and goals of each."""

from __future__ import annotations

from attrs import evolve, frozen

SETTLE_MS = 1000
LINE = 64 * 1024 * 1024


@frozen
class Goal:
    """A limit and an aim for a figure, which are printed beside it but never asserted."""

    must: float
    aim: float
    floor: str = ""
    """The program whose figure the goal is a multiple of; without it, the goal is absolute."""


@frozen
class Metric:
    """A figure of a case: where it comes from, its unit and its goal."""

    key: str
    """The name of the figure in the reports of the driver and of `measure`."""
    label: str
    unit: str
    scale: float = 1.0
    """The factor that converts the reported number to the unit."""
    goal: Goal | None = None
    more_is_better: bool = False
    less_direct: bool = False
    """Whether the figure of `direct` in the same round is subtracted."""

    @property
    def name(self) -> str:
        """Return the name of the figure in the table."""
        return f"{self.label} - direct" if self.less_direct else self.label


@frozen
class Case:
    """A run of driver and agent, and the figures that count in it."""

    name: str
    title: str
    verb: str
    """The driver's case: session, roundtrip, stream or upload."""
    metrics: tuple[Metric, ...]
    count: int = 1
    size: int = 300
    gap_us: int = 0
    hold_ms: int = 0
    settle_ms: int = SETTLE_MS
    repeats: int = 1
    """How many runs make one round; their median counts."""
    keeps: bool = False
    """Whether the size on disk is measured, which requires a finished recording."""
    also: tuple[str, ...] = ()
    """The programs that are measured in this case only."""

    @property
    def driver_arguments(self) -> list[str]:
        """Return the arguments of the driver."""
        numbers = (self.count, self.size, self.hold_ms, self.settle_ms)
        return [self.verb, *map(str, numbers)]

    @property
    def agent_arguments(self) -> list[str]:
        """Return the arguments of the agent."""
        match self.verb:
            case "stream":
                return ["stream", str(self.count), str(self.size), str(self.gap_us)]
            case "upload":
                return ["sink", str(self.count), str(self.size)]
        return ["echo"]

    def quick(self) -> Case:
        """Return the same case with a tenth of all sizes, to test the benchmark itself."""
        return evolve(
            self,
            count=max(1, self.count // 10),
            size=self.size if self.size <= 1 << 20 else self.size // 10,
            hold_ms=self.hold_ms // 10,
            settle_ms=self.settle_ms // 2,
            repeats=1,
        )


def times(*goals: tuple[str, str, Goal | None]) -> tuple[Metric, ...]:
    """Return figures of latency."""
    return tuple(Metric(key, label, "us", goal=goal) for key, label, goal in goals)


def frames(must: float, aim: float) -> Metric:
    """Return the figure of throughput in frames, for many small frames."""
    goal = Goal(must, aim, "copier")
    return Metric("frames_per_s", "throughput", "k/s", 1e-3, goal, more_is_better=True)


def volume(must: float, aim: float) -> Metric:
    """Return the figure of throughput in bytes, for large frames."""
    goal = Goal(must, aim, "copier")
    return Metric("bytes_per_s", "throughput", "MB/s", 1e-6, goal, more_is_better=True)


def peak(must: float, aim: float) -> Metric:
    """Return the figure of the peak memory of all processes between client and agent."""
    return Metric("peak_kb", "peak memory", "MB", 1.024e-3, Goal(must, aim))


CASES = (
    Case(
        "start",
        "a short session",
        "session",
        (
            Metric("start_us", "start to first answer", "ms", 1e-3, Goal(1.75, 1.3, "python")),
            Metric("exit_us", "end of input to exit", "ms", 1e-3, Goal(50, 10)),
            Metric("peak_kb", "peak memory", "MB", 1.024e-3),
        ),
        settle_ms=0,
        repeats=5,
        also=("python",),
    ),
    Case(
        "roundtrip",
        "round trips of 300 B",
        "roundtrip",
        times(
            ("p50_us", "p50", Goal(2.0, 1.5, "copier")),
            ("p99_us", "p99", Goal(2.5, 1.8, "copier")),
            ("p999_us", "p99.9", Goal(4.0, 2.0, "copier")),
        ),
        count=5000,
    ),
    Case(
        "faults",
        "round trips of 300 B with a fault that never fires, or always",
        "roundtrip",
        times(
            ("p50_us", "p50", Goal(5.0, 4.0, "copier")),
            ("p99_us", "p99", None),
            ("p999_us", "p99.9", None),
        ),
        count=5000,
        also=("touched", "fired"),
    ),
    Case(
        "window",
        "round trips of 300 B while a live window shows them",
        "roundtrip",
        (
            *times(("p50_us", "p50", None), ("p99_us", "p99", None)),
            Metric("cpu_per_100k_s", "CPU per 100k frames", "s", less_direct=True),
        ),
        count=50_000,
        also=("watched",),
    ),
    Case(
        "cold",
        "round trips of 300 B from the first one on",
        "roundtrip",
        (
            Metric("p50_us", "p50", "us"),
            Metric("p99_us", "p99", "ms", 1e-3, Goal(5, 0.5)),
            Metric("max_us", "longest", "ms", 1e-3),
        ),
        count=3000,
        settle_ms=0,
    ),
    Case(
        "oneway",
        "one way at 5,000 frames/s of 300 B",
        "stream",
        times(
            ("p50_us", "p50", Goal(1.5, 1.2, "copier")),
            ("p99_us", "p99", Goal(2.5, 1.5, "copier")),
        ),
        count=10_000,
        gap_us=200,
    ),
    Case(
        "down-300",
        "agent to client, 300 B",
        "stream",
        (
            frames(0.7, 0.9),
            Metric("cpu_per_100k_s", "CPU per 100k frames", "s", 1, Goal(2.0, 1.0), False, True),
            Metric("kept_per_frame", "kept per frame", "B", 1, Goal(364, 352)),
            peak(48, 35),
        ),
        count=100_000,
        keeps=True,
    ),
    Case(
        "down-4k", "agent to client, 4 KB", "stream", (volume(0.4, 0.7),), count=20_000, size=4096
    ),
    Case(
        "down-1m", "agent to client, 1 MB", "stream", (volume(0.4, 0.8),), count=100, size=1 << 20
    ),
    Case("up-300", "client to agent, 300 B", "upload", (frames(0.6, 0.8),), count=100_000),
    Case(
        "stall",
        "a client that reads nothing for 10 s",
        "stream",
        (peak(48, 35), Metric("taken_bytes", "taken meanwhile", "KB", 1e-3, Goal(512, 256))),
        count=200_000,
        hold_ms=10_000,
    ),
    Case(
        "line-64m",
        "one line of 64 MB",
        "stream",
        (
            peak(96, 40),
            Metric("bytes_per_s", "throughput", "MB/s", 1e-6, more_is_better=True),
        ),
        size=LINE,
    ),
)
