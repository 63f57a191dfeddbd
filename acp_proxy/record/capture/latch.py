"""An event that happens once in one thread and that another thread awaits.

`threading.Event` would do, but importing it takes longer than importing all of the relay.
"""

from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Latch:
    """An event that is set once.

    Callbacks run in the thread that sets the event. A callback that is added later runs at once.
    """

    def __init__(self) -> None:
        self.is_set = False
        self._lock = allocate_lock()
        self._calls: list[Callable[[], object]] = []

    def set(self) -> None:
        """Sets the latch; a second call does nothing."""
        with self._lock:
            if self.is_set:
                return
            self.is_set = True
        for call in self._calls:
            call()

    def then(self, call: "Callable[[], object]") -> None:
        """Calls ``call`` as soon as the latch is set."""
        with self._lock:
            if not self.is_set:
                self._calls.append(call)
                return
        call()

    def wait(self, seconds: float = -1) -> bool:
        """Blocks this thread until the latch is set; returns whether the latch is set.

        Args:
            seconds: the longest time to wait; a negative number means no limit.
        """
        gate = allocate_lock()
        gate.acquire()
        self.then(gate.release)
        return gate.acquire(timeout=seconds)
