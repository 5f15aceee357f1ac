"""Build a thing once for each key, in whichever thread asks first."""

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["BuildOnce"]

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class BuildOnce(Generic[K, T]):
    """Threads that ask for the same key wait for one build; different keys build at the same time."""

    def __init__(self) -> None:
        self._done: dict[K, T] = {}
        self._locks: dict[K, threading.Lock] = {}
        self._guard = threading.Lock()

    def __contains__(self, key: K) -> bool:
        return key in self._done

    def get(self, key: K, build: Callable[[], T]) -> T:
        """What ``build()`` returned for ``key``; a build that raises leaves nothing behind."""
        if key in self._done:
            return self._done[key]
        with self._guard:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._done:
                self._done[key] = build()
        with self._guard:
            self._locks.pop(key, None)
        return self._done[key]
