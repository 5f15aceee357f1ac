"""Sizes and layouts of a convolution; an axis that an operator does not have has size 1."""

from typing import Any, NamedTuple

import tilelang.language as T

F32, I64, I32 = "float32", "int64", "int32"
Axes = tuple[Any, Any, Any]


class Sizes(NamedTuple):
    """What a call is about: each triple is depth, height and width."""

    batch: Any
    channels: Any
    width: Any
    outputs: Any
    groups: Any
    size: Axes
    out: Axes
    kernel: Axes
    step: Axes
    pad: Axes
    spread: Axes

    @property
    def taps(self) -> Any:
        """Positions of the kernel."""
        return self.kernel[0] * self.kernel[1] * self.kernel[2]

    @property
    def pixels(self) -> Any:
        """Positions of an input image."""
        return T.cast(self.size[0] * self.size[1] * self.size[2], I64)

    @property
    def places(self) -> Any:
        """Positions of an output image."""
        return T.cast(self.out[0] * self.out[1] * self.out[2], I64)

    @property
    def rows(self) -> Any:
        """Output positions of the whole batch."""
        return T.cast(self.batch, I64) * self.places

    def begin(self, place: Any) -> Axes:
        """Where the window of an output position begins."""
        image = T.truncdiv(place, self.out[2])
        at = T.truncdiv(image, self.out[1]), T.truncmod(image, self.out[1]), T.truncmod(place, self.out[2])
        return tuple(at[a] * self.step[a] - self.pad[a] for a in range(3))

    def tap(self, tap: Any) -> Axes:
        """How far a position of the kernel is from the first."""
        _, height, width = self.kernel
        at = (
            T.truncdiv(tap, height * width),
            T.truncmod(T.truncdiv(tap, width), height),
            T.truncmod(tap, width),
        )
        return tuple(at[a] * self.spread[a] for a in range(3))

    def flat(self, at: Axes) -> Any:
        """A position in an input image as one number."""
        return (at[0] * self.size[1] + at[1]) * self.size[2] + at[2]


class Form(NamedTuple):
    """Layouts: whether the channels of input and weight are innermost, and how many go at once."""

    dtype: str
    last: bool
    weight_last: bool
    lanes: int
    bias: bool
    kernel: tuple[int, int, int] | tuple[()]
    axes: int

    @property
    def taps_first(self) -> bool:
        """Whether K runs over positions of the kernel first, and over channels inside of each."""
        return self.last or self.weight_last

    @property
    def plain_weight(self) -> bool:
        """Whether a row of K is a row of the weight in memory."""
        return self.weight_last or not self.last

    @property
    def wide(self) -> int:
        """How many channels of input and output go at once."""
        return self.lanes if self.last else 1

    @property
    def depth(self) -> int:
        """A step of K: shorter where single elements are loaded, since the next one waits in registers."""
        return 64 if self.last and self.lanes > 1 else 32

    def split(self, k: Any, s: Sizes, width: Any) -> tuple[Any, Any]:
        """Position of the kernel and channel, of `width` ones, of a place in K."""
        if self.taps_first:
            return T.truncdiv(k, width), T.truncmod(k, width)
        return T.truncmod(k, s.taps), T.truncdiv(k, s.taps)

    def window(self, sizes: Axes) -> Axes:
        """Sizes of the kernel: known ones, else those of the call."""
        return self.kernel or sizes


def three(values: Any, fill: int) -> tuple[int, ...]:
    """Numbers of one to three axes as those of three."""
    return (*(fill,) * (3 - len(values)), *values)
