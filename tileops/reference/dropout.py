"""Oracle of dropout: its random numbers in integers, and the quotient in float64."""

import math

import torch
from torch import Tensor

_LOW = 0xFFFFFFFF


def philox(counters: Tensor, seed: int) -> Tensor:
    """Philox4x32-10 of 64-bit counters: four numbers of 32 bits each, as int64."""
    c = [counters & _LOW, counters >> 32 & _LOW, torch.zeros_like(counters), torch.zeros_like(counters)]
    key = [seed & _LOW, seed >> 32 & _LOW]
    for _ in range(10):
        a, b = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57  # modulo 2^64, which all 64 bits of a product fit
        c = [b >> 32 & _LOW ^ c[1] ^ key[0], b & _LOW, a >> 32 & _LOW ^ c[3] ^ key[1], a & _LOW]
        key = [(key[0] + 0x9E3779B9) & _LOW, (key[1] + 0xBB67AE85) & _LOW]
    return torch.stack(c, -1)


def dropout(input: Tensor, *, p: float, training: bool, seed: int) -> Tensor:
    """Element i is kept where the upper 24 bits of its number, as a fraction, are not below p."""
    if not training or p == 0.0:
        return input.double().clone()
    count = input.numel()
    numbers = philox(torch.arange(-(-count // 4), device=input.device), seed).view(-1)[:count] >> 8
    kept = (numbers >= math.ceil(p * 2**24)).view(input.shape)
    return torch.where(kept, input.double() / (1.0 - p if p < 1.0 else 1.0), 0.0)
