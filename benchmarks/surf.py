"""Dense SURF: ermlab against mahotas' dense SURF and scikit-image's dense DAISY, on one thread.

Noise of 640 x 480 pixels, a point every second pixel. mahotas also finds a direction at every point and
leaves out those near the border; DAISY is another descriptor of about the same size (4 histograms around one,
8 bins each, on a window of the same side). Each in turn, best of several runs. Prints descriptors a second
and ratios; mahotas is left out where it is not installed.
"""

import argparse
import time

import numpy as np
from skimage.feature import daisy

from ermlab.features.surf import dense_surf

try:
    from mahotas.features import surf as mahotas_surf
except ImportError:
    mahotas_surf = None

STEP = 2


def methods(scale):
    found = {
        "ermlab": lambda image: dense_surf(image, step=STEP, scales=(scale,), n_jobs=1)[1],
        "skimage DAISY": lambda image: daisy(
            image, step=STEP, radius=round(10 * scale), rings=1, histograms=4, orientations=8
        ).reshape(-1, 40),
    }
    if mahotas_surf is not None:
        found["mahotas"] = lambda image: mahotas_surf.dense(image, STEP, scale=float(scale))
    return found


def best_rates(scale, repeats):
    image = np.random.default_rng(0).integers(0, 256, size=(480, 640), dtype=np.uint8)
    rates = {}
    for repeat in range(repeats + 1):
        for name, method in methods(scale).items():
            began = time.perf_counter()
            n = len(method(image))
            if repeat > 0:  # the first run compiles
                rates[name] = max(rates.get(name, 0.0), n / (time.perf_counter() - began))
    return rates


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scales", type=float, nargs="+", default=[1.0, 1.3, 2.0])
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    print(f"{'scale':>5}  {'method':<14} {'descriptors/s':>13}  ermlab is faster by")
    for scale in arguments.scales:
        rates = best_rates(scale, arguments.repeats)
        for name, rate in rates.items():
            print(f"{scale:5}  {name:<14} {rate:13.0f}  {rates['ermlab'] / rate:.1f}")


if __name__ == "__main__":
    main()
