#!/usr/bin/env python3
"""Times PyTorch's product of transposed views, which peers.py does not have.

  torch_views.py --case gemm --threads 2 --repeat 15

gemm_nt_MxNxK is torch.mm(x, w.T) with x [M,K] and w [N,K], the forward pass of a linear layer;
gemm_tn_MxNxK is torch.mm(x.T, dy) with x [K,M] and dy [K,N], the gradient of its weight. The views
are made inside the timed call and nothing is copied, as in `weft bench gemm`.

--case takes a comma-separated list of gemm (both forms), gemm_nt, gemm_tn and single cases of any
size; what is none of these is skipped without a word, as peers.py does. One JSON line per result on
stdout. The method is that of peers.py: warm-up, samples of at least 2 ms, the median of --repeat of
them, fewer once --budget seconds are spent, on as many CPUs as threads.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import os
import re
import statistics
import time

SHAPES = [(512, 512, 512), (2048, 512, 512), (2048, 2048, 512), (4096, 10000, 128), (1, 512, 2048),
          (16, 768, 3072)]
FORMS = ("nt", "tn")
WARM_UP = 5
SHORTEST_SAMPLE = 0.002  # seconds
MOST_CALLS = 2000
FEWEST_SAMPLES = 3


def wanted(names):
    """The (form, M, N, K) that the names ask for, each once, in the order of the names."""
    found = {}
    for name in names:
        for form in FORMS:
            if name in ("gemm", "gemm_" + form):
                found.update({(form, *shape): None for shape in SHAPES})
        if single := re.fullmatch(r"gemm_(nt|tn)_(\d+)x(\d+)x(\d+)", name):
            form, *sizes = single.groups()
            found[(form, *map(int, sizes))] = None
    return list(found)


def milliseconds(call, repeat, budget):
    for _ in range(WARM_UP):
        call()
    start = time.perf_counter()
    call()
    once = max(time.perf_counter() - start, 1e-7)
    calls = max(1, min(MOST_CALLS, int(SHORTEST_SAMPLE / once)))
    end, times = time.perf_counter() + budget, []
    while len(times) < repeat and (len(times) < FEWEST_SAMPLES or time.perf_counter() < end):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - start) / calls * 1e3)
    return times


def measure(torch, form, m, n, k, args):
    if form == "nt":
        x, w = torch.randn(m, k), torch.randn(n, k)
        times = milliseconds(lambda: torch.mm(x, w.T), args.repeat, args.budget)
    else:
        x, dy = torch.randn(k, m), torch.randn(k, n)
        times = milliseconds(lambda: torch.mm(x.T, dy), args.repeat, args.budget)
    median = statistics.median(times)
    line = {"peer": "torch", "version": torch.__version__, "case": f"gemm_{form}_{m}x{n}x{k}",
            "threads": args.threads, "median_ms": median, "min_ms": min(times), "n": len(times),
            "gflops": 2 * m * n * k / median / 1e6}
    print(json.dumps(line), flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", default="gemm", help="comma-separated list (default: gemm)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=15, help="samples of each case")
    parser.add_argument("--budget", type=float, default=12.0, help="seconds of each case")
    args = parser.parse_args()
    products = wanted(args.case.split(","))
    if not products:
        return
    # Before torch is loaded: its thread pools read these.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-args.threads:])
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(args.threads)
    import torch
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    with torch.no_grad():
        for product in products:
            measure(torch, *product, args)


if __name__ == "__main__":
    main()
