"""Detection of leaks, copies, leaked families and broken tasks from results, and tracing of leaked texts.

Its linear algebra runs on one thread. The matrices are small: more threads of BLAS wait for each other longer than they
compute, ten times as long on a busy machine, and a sum over other blocks may differ in its last digits from one number
of cores to the next.
"""

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # BLAS reads them once, when NumPy is imported
    os.environ.setdefault(_variable, "1")
