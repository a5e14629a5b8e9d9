"""What peers do beside ours, each by its own package: pure-LDP, OpenDP and Google's dp-accounting.

    python3 -m venv out/peers && out/peers/bin/pip install -r docs/peers.txt

gets them. docs/numpy_baseline.py says what this script is told and answers; docs/performance-services.md has what came
of it. pure-LDP draws its bits by numpy and the accountants round up, each as its package does; ours draws
cryptographic ones.
"""

import json
import math
import sys
import time


def pure_ldp_device():
    from pure_ldp.frequency_oracles.unary_encoding import UEClient

    client = UEClient(26, 2_795_520)  # it halves: each cell flips as at local epsilon 13 when a value may be none
    return lambda: client.privatise(7)


def opendp_bits():
    import opendp.prelude as dp

    dp.enable_features("contrib")
    f = 2 / (1 + math.exp(2))  # a bit is drawn anew with it, so it flips with half of it
    bits = dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=f)
    value = bytes([1]) + bytes(95)
    return lambda: bits(value)


def accounting(make):
    def run():
        from dp_accounting.pld import privacy_loss_distribution as pld

        return lambda: make(pld).self_compose(768).get_epsilon_for_delta(1e-6)

    return run


CASES = {
    "pure-ldp/device": pure_ldp_device,
    "opendp/bits": opendp_bits,
    "dp-accounting/gaussian": accounting(lambda pld: pld.from_gaussian_mechanism(100.0)),
    "dp-accounting/bits": accounting(lambda pld: pld.from_randomized_response(0.8, 2)),
}

for line in sys.stdin:
    name, runs = line.split()
    run, answer = CASES[name](), None
    begin = time.perf_counter()
    for _ in range(int(runs)):
        answer = run()
    seconds = (time.perf_counter() - begin) / int(runs)
    epsilon = answer if isinstance(answer, float) else 0
    print(json.dumps({"seconds": seconds, "peak_bytes": 0, "epsilon": float(epsilon)}), flush=True)
