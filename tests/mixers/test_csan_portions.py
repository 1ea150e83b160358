"""Windows mixed a portion at a time, in inference on a CPU, are those mixed at once."""

import pytest
import torch

from csan_mm.mixers import base
from csan_mm.mixers.build import build_mixer

WINDOWS, SIDE = 7, 3  # 7 windows leave an uneven last portion of 3


def masks(number: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.where(torch.rand(number, SIDE**2, SIDE**2, generator=generator) < 0.3, -100.0, 0.0).double()


@pytest.mark.parametrize("kappa", ["unbounded", "bounded"])
@pytest.mark.parametrize(("images", "masked"), [(1, False), (1, True), (3, False), (3, True)])
def test_portions_equal_all_windows_at_once(kappa, images, masked, monkeypatch):
    mixer = build_mixer("csan", embed_dims=16, num_heads=2, window_size=SIDE, kappa=kappa).double().eval()
    torch.manual_seed(1)
    for parameter in mixer.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    x, mask = torch.randn(images * WINDOWS, SIDE**2, 16).double(), masks(WINDOWS) if masked else None
    sizes = []
    mix = mixer.mix
    monkeypatch.setattr(mixer, "mix", lambda part, own: sizes.append(len(part)) or mix(part, own))
    with torch.no_grad():
        whole = mixer(x, mask=mask)
        assert sizes == [images * WINDOWS]
        monkeypatch.setattr(base, "PORTION", 4 * 2 * SIDE**4)  # four windows of two heads
        portions = mixer(x, mask=mask)
    torch.testing.assert_close(portions, whole, rtol=1e-12, atol=1e-12)
    assert max(sizes[1:]) == 4
    assert sum(sizes[1:]) == images * WINDOWS


def test_training_mixes_all_at_once(monkeypatch):
    """Each portion would add to the weights' gradients by itself."""
    monkeypatch.setattr(base, "PORTION", 1)
    mixer = build_mixer("csan", embed_dims=16, num_heads=2, window_size=SIDE)
    calls = []
    mix = mixer.mix
    monkeypatch.setattr(mixer, "mix", lambda part, own: calls.append(len(part)) or mix(part, own))
    mixer(torch.randn(WINDOWS, SIDE**2, 16)).sum().backward()
    assert calls == [WINDOWS]
