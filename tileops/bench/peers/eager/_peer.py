"""The peer that the modules of this package fill."""

from tileops.bench.peer import Peer

peer = Peer("PyTorch", devices=("cuda", "cpu"), is_torch=True)
