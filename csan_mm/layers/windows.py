"""Square windows on maps of any size, shifted or not (Swin, Liu et al., ICCV 2021, section 3.2).

Shapes: (B, H, W, C) maps, (B * nW, w * w, C) windows, w the window's side; Hp, Wp the map's sides padded to multiples of w.
"""

import torch
from torch import Tensor

from csan_mm.common.checks import check_int
from csan_mm.layers.padding import pad_to_multiple, whole

#: Added to the scores of pairs that a shifted window only holds because the map wraps around.
MASKED = -100.0


def relative_position_index(window_size: int, device: torch.device | None = None) -> Tensor:
    """Row of the bias table for each pair of cells of a window: (N, N), N = w^2, values in [0, (2w-1)^2).

    Made anew where it is used, by a few small kernels: a buffer made on the meta device has no values after ``to_empty``.
    """
    cells = torch.arange(window_size, device=device)
    offset = cells[:, None] - cells + window_size - 1  # (w, w), from 0 to 2w - 2
    index = offset[:, None, :, None] * (2 * window_size - 1) + offset[None, :, None, :]  # (w, w, w, w)
    return index.reshape(window_size**2, window_size**2)


def roll(x: Tensor, shift: tuple[int, int]) -> Tensor:
    """Roll maps (B, H, W, C) up and left by ``shift``, at most (H, W)."""
    if not torch.compiler.is_compiling():
        return torch.roll(x, (-shift[0], -shift[1]), dims=(1, 2))
    # ONNX has no roll by an amount that depends on the size.
    x = torch.cat([x[:, shift[0] :], x[:, : shift[0]]], dim=1)
    return torch.cat([x[:, :, shift[1] :], x[:, :, : shift[1]]], dim=2)


class WindowGrid:
    """Cuts one map size into windows and puts them together again; blocks of a stage share one.

    The map is padded with zeros at the bottom and right up to whole windows, then rolled up and left by the shift. A side
    that fits into one window is not shifted.

    Args:
        height: H of the map.
        width: W of the map.
        window_size: w.
        shift: Cells by which the windows are displaced, less than w. Default: 0, none.

    Raises:
        ValueError: A side or ``window_size`` below 1, a ``shift`` of a window or more.
    """

    def __init__(self, height: int, width: int, window_size: int, shift: int = 0) -> None:
        if not torch.compiler.is_compiling():
            self._check(height, width, window_size, shift)
        self.size = (height, width)
        self.window_size = window_size
        self.padded = tuple(whole(side, window_size) for side in self.size)
        # min(shift, padded - w) is 0 exactly where one window spans the side, without a branch on a traced size.
        self.shift = tuple(torch.sym_min(shift, side - window_size) if shift else 0 for side in self.padded)
        self.shifted = shift > 0
        #: Number of windows down and across.
        self.windows = tuple(side // window_size for side in self.padded)
        self._mask: Tensor | None = None

    @staticmethod
    def _check(height: int, width: int, window_size: int, shift: int) -> None:
        check_int("window_size", window_size, 1)
        check_int("shift", shift, 0, window_size - 1)
        for name, side in (("height", height), ("width", width)):
            if not isinstance(side, (torch.SymInt, Tensor)):  # a traced size has no number to look at
                check_int(name, side, 1)

    def split(self, x: Tensor) -> Tensor:
        """(B, H, W, C) -> (B * nW, w * w, C)."""
        x = pad_to_multiple(x, self.window_size)
        if self.shifted:
            x = roll(x, self.shift)
        return self._partition(x)

    def merge(self, windows: Tensor) -> Tensor:
        """(B * nW, w * w, C) -> (B, Hp, Wp, C), still padded and in the shifted frame."""
        (rows, columns), side = self.windows, self.window_size
        x = windows.reshape(-1, rows, columns, side, side, windows.shape[-1]).transpose(2, 3)
        return x.reshape(-1, *self.padded, windows.shape[-1])

    def restore(self, x: Tensor) -> Tensor:
        """Undo shift and padding: (B, Hp, Wp, C) -> (B, H, W, C)."""
        if self.shifted:
            x = roll(x, (self.padded[0] - self.shift[0], self.padded[1] - self.shift[1]))
        return x[:, : self.size[0], : self.size[1]]

    def mask(self, like: Tensor) -> Tensor | None:
        """What a shifted window adds to its scores, (nW, N, N) of 0 and -100 on like's device; ``None`` without a shift."""
        if self.shifted and self._mask is None:
            region = self._regions(0, like.device)[:, None] * 3 + self._regions(1, like.device)  # (Hp, Wp)
            region = self._partition(region[None, :, :, None]).squeeze(-1)  # (nW, N)
            apart = region[:, :, None] != region[:, None, :]
            self._mask = apart.to(like.dtype) * MASKED
        return self._mask

    def _regions(self, axis: int, device: torch.device) -> Tensor:
        """0, 1, 2 along a side: before the last window, in it, and in its part that has wrapped around."""
        side = self.padded[axis]
        place = torch.arange(side, device=device)
        return (place >= side - self.window_size).long() + (place >= side - self.shift[axis]).long()

    def _partition(self, x: Tensor) -> Tensor:
        (rows, columns), side = self.windows, self.window_size
        x = x.reshape(x.shape[0], rows, side, columns, side, x.shape[-1]).transpose(2, 3)
        return x.reshape(-1, side * side, x.shape[-1])
