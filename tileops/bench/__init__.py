"""Measures operators on this machine beside other implementations: `python -m tileops.bench`.

    python -m tileops.bench                                every operator, on the GPU
    python -m tileops.bench --op RMSNormFwdOp GemmFwdOp
    python -m tileops.bench --family attention --out docs/data/h200
    python -m tileops.bench --device cpu --op GemmFwdOp    the small cases, to try the harness itself

One JSON file an operator is written after every case, so that a run that is stopped loses nothing, and the
same command continues it. `tileops.bench.peers` holds what the operators are compared with, one file each.
"""
