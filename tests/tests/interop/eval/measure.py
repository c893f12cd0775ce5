"""Prints what ir-measures says of a run: `measure query value` on each line, and the mean as query `all`.

    measure.py QRELS RUN
"""

import sys

import ir_measures
from ir_measures import AP, RR, P, R, nDCG

MEASURES = [nDCG @ 10, nDCG @ 3, AP @ 10, AP @ 100, R @ 100, R @ 5, P @ 10, RR]

qrels = list(ir_measures.read_trec_qrels(sys.argv[1]))
run = list(ir_measures.read_trec_run(sys.argv[2]))
for metric in ir_measures.iter_calc(MEASURES, qrels, run):
    print(f"{metric.measure} {metric.query_id} {metric.value:.4f}")
for measure, value in ir_measures.calc_aggregate(MEASURES, qrels, run).items():
    print(f"{measure} all {value:.4f}")
