"""Checks a node's public log over HTTP with aics-tlog, which nobody here wrote.

    verify.py BASE LOG_VKEY WITNESS_VKEY QUORUM OLD_CHECKPOINT_FILE

The bearer token for the entries comes from the environment, as LOG_TOKEN. Prints one line per check and ends with
code 1 at the first that does not hold.
"""

import base64
import json
import os
import sys
import urllib.request

from aics_tlog.checkpoint import checkpoint_from_note, verify_checkpoint
from aics_tlog.hashing import leaf_hash
from aics_tlog.note import parse_vkey
from aics_tlog.remote import HttpTileReader
from aics_tlog.tiles import consistency_proof_from_tiles, inclusion_proof_from_tiles, parse_entry_bundle
from aics_tlog.tree import verify_consistency, verify_inclusion, verify_leaf_inclusion
from aics_tlog.verified import VerifiedTileReader


def check(what, holds):
    print(f"{'ok' if holds else 'FAILED'}: {what}")
    if not holds:
        sys.exit(1)


base, log_vkey, witness_vkey, quorum, old_file = sys.argv[1:6]
quorum = int(quorum)
log_key, witness_key = parse_vkey(log_vkey), parse_vkey(witness_vkey)


def get(path, token=False):
    request = urllib.request.Request(base + path)
    if token:
        request.add_header("Authorization", "Bearer " + os.environ["LOG_TOKEN"])
    with urllib.request.urlopen(request, timeout=30) as response:
        return response.read()


def hashes(texts):
    return [base64.b64decode(text) for text in texts]


tiles = HttpTileReader(base, proxies={})
checkpoint, note = checkpoint_from_note(tiles.read_checkpoint())
verdict = verify_checkpoint(note, log_key, [witness_key], quorum)
check(f"checkpoint of {checkpoint.size} entries, signed by its log", verdict.log_ok)
check(f"cosigned by {', '.join(verdict.witnesses) or verdict.error}; {quorum} wanted", verdict.ok)
size, root = checkpoint.size, checkpoint.root

verified = VerifiedTileReader(tiles, size, root)
verified.check_root()
check("the tiles at the right edge lead to the root", True)

bundles = []
for index in range((size + 255) // 256):
    width = min(256, size - 256 * index)
    path = f"tile/entries/{index:03}" + ("" if width == 256 else f".p/{width}")
    bundles += parse_entry_bundle(get(path, token=True))
check("as many entries as the checkpoint says", len(bundles) == size)
check("every entry hashes to its leaf", all(leaf_hash(e) == verified.leaf_hash(i) for i, e in enumerate(bundles)))

for index in (0, 1, 255, 256, size - 1):
    ours = json.loads(get(f"proof/inclusion?index={index}&size={size}"))
    proof = hashes(ours["proof"])
    check(f"inclusion of entry {index}", verify_leaf_inclusion(bundles[index], index, size, proof, root))
    check(f"it is the proof from the tiles ({index})", proof == inclusion_proof_from_tiles(verified, index, size))
    wrong = leaf_hash(bundles[index] + b"!")
    check(f"a wrong leaf is refused ({index})", not verify_inclusion(wrong, index, size, proof, root))
    check(f"a wrong place is refused ({index})", not verify_leaf_inclusion(bundles[index], (index + 1) % size, size, proof, root))

old, old_note = checkpoint_from_note(open(old_file, "rb").read())
check("the older checkpoint is signed by the log", verify_checkpoint(old_note, log_key).log_ok)
ours = json.loads(get(f"proof/consistency?from={old.size}&to={size}"))
proof = hashes(ours["proof"])
check(f"consistency from {old.size} to {size}", verify_consistency(old.size, size, old.root, root, proof))
check("it is the proof from the tiles", proof == consistency_proof_from_tiles(verified, old.size, size))
check("another old root is refused", not verify_consistency(old.size, size, root, root, proof))
