#!/usr/bin/env python3
"""What retracting a source changes, computed from what `plumb ... --json` shows before it, and from nothing else.

    closure.py STATE.json SOURCE

STATE.json holds `sources` (plumb sources), `answers` (plumb answers list) and `given_out` (bundles that were exported).
Prints the changed set as a sorted JSON list of "what subject state", as `plumb notices events` tells it.
"""

import json
import sys


def main():
    state = json.load(open(sys.argv[1], encoding="utf-8"))
    retracted = sys.argv[2]
    changed = [f"source {s['cid']} withdrawn" for s in state["sources"] if s["cid"] == retracted]
    for saved in state["answers"]:
        answer = saved["answer"]
        source_of = {c["id"]: c["source"] for c in answer["citations"]}
        if retracted not in source_of.values():
            continue
        # Equal sentences are one claim, carried by everything that is cited for any of them.
        carried_by = {}
        for claim in answer["claims"]:
            carried_by.setdefault(claim["text"], set()).update(claim["citations"])
        states = {}
        for claim in answer["claims"]:
            support = [source_of[c] for c in carried_by[claim["text"]]]
            left = [s for s in support if s != retracted]
            if len(left) < len(support):
                states[claim["id"]] = "weakened" if left else "unsupported"
        for claim, how in states.items():
            changed.append(f"claim {saved['bundle']}.{claim} {how}")
        if all(states.get(c["id"]) == "unsupported" for c in answer["claims"]):
            how = "unsupported"
        elif "unsupported" in states.values():
            how = "unsupported_in_part"
        else:
            how = "weakened" if states else "noted"
        changed.append(f"answer {saved['bundle']} {how}")
        if saved["bundle"] in state["given_out"]:
            changed.append(f"export {saved['bundle']} {how}")
    json.dump(sorted(changed), sys.stdout)


main()
