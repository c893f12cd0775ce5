"""Opens a bundle with the Python packages dag-cbor and multiformats: every CID is computed again, every DAG-CBOR block is
decoded and encoded to the same bytes, and links are followed from the root. Prints what it found as JSON.

    python check_car.py answer.car
"""

import json
import sys
from pathlib import Path

import dag_cbor
from multiformats import CID, multihash, varint

CID_BYTES = 36  # version, codec, hash, length, and 32 bytes of SHA-256


def sections(data: bytes):
    """The sections of a CAR v1 file, which nothing but their lengths divides."""
    stream = memoryview(data)
    while stream:
        length, n_bytes, stream = varint.decode_raw(stream)
        if length > len(stream):
            sys.exit("the file is cut off")
        yield bytes(stream[:length])
        stream = stream[length:]


def name_of(cid: CID) -> str:
    """The usual text of a CID; one that was read from bytes shows itself in base58 otherwise."""
    return cid.encode("base32")


def links(value):
    if isinstance(value, CID):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from links(item)
    elif isinstance(value, list):
        for item in value:
            yield from links(item)


header, *rest = sections(Path(sys.argv[1]).read_bytes())
header = dag_cbor.decode(header)
if header["version"] != 1 or len(header["roots"]) != 1:
    sys.exit(f"unexpected header {header}")
[root] = header["roots"]

blocks = {}
for section in rest:
    cid, data = CID.decode(section[:CID_BYTES]), section[CID_BYTES:]
    computed = CID("base32", 1, cid.codec, multihash.digest(data, "sha2-256"))
    if bytes(computed) != bytes(cid):
        sys.exit(f"the bytes of {name_of(cid)} have the CID {computed}")
    if cid.codec.name == "dag-cbor":
        value = dag_cbor.decode(data)
        if dag_cbor.encode(value) != data:
            sys.exit(f"{name_of(cid)} is not canonical")
    elif cid.codec.name == "raw":
        value = data
    else:
        sys.exit(f"{name_of(cid)} has codec {cid.codec.name}")
    blocks[name_of(cid)] = value

reached, outside, following = set(), set(), [root]
while following:
    name = name_of(following.pop())
    if name not in blocks:
        outside.add(name)
    elif name not in reached:
        reached.add(name)
        following.extend(links(blocks[name]))
if unreached := blocks.keys() - reached:
    sys.exit(f"no link reaches {unreached}")

seal = blocks[name_of(root)]
bundle = blocks[name_of(seal["bundle"])]
answer = blocks[name_of(bundle["answer"])]
print(json.dumps({
    "root": name_of(root),
    "bundle": name_of(seal["bundle"]),
    "issuer": bundle["issuer"],
    "blocks": len(blocks),
    "reached": len(reached),
    "outside": len(outside),
    "question": bundle["query"],
    "sentences": [claim["text"] for claim in answer["claims"]],
    "cited": [blocks[name_of(cited["chunk"])]["text"] for cited in bundle["evidence"]],
    "logged": blocks[name_of(seal["logged"])]["index"],
}, indent=2, ensure_ascii=False))
