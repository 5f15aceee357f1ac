"""The peer that the modules of this package fill, and what they share."""

from tileops.bench.peer import Call, Function, Peer, Unserved

peer = Peer("PyTorch", devices=("cuda", "cpu"), is_torch=True)


def tried(call: Call, function: Function) -> Function:
    """The function, if it takes the call's tensors: some functions say what they take only by refusing."""
    try:
        function(*call.inputs.values())
    except (TypeError, RuntimeError) as error:
        raise Unserved(str(error).partition("\n")[0]) from error
    return function
