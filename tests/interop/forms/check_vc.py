"""Checks a bundle in its JSON form with openvc-core, which knows nothing of us: the Data Integrity proof holds, and holds no
more once anything was changed. The blocks inside are hashed with multiformats. Prints what it found as JSON.

    python check_vc.py answer.json              the issuer goes by its did:key
    python check_vc.py answer.json did.json     by a did:web, whose document this is
"""

import copy
import json
import sys
from pathlib import Path

from multiformats import CID, multibase, multihash
from openvc.did.did_web import DidWebResolver
from openvc.proof.di_jcs import EddsaJcsProofSuite
from openvc.proof.errors import ProofError, SignatureInvalid

credential = json.loads(Path(sys.argv[1]).read_text())
fetched = []


def fetch(url: str):
    """In the place of the web: what lies at the one address that the name leads to."""
    fetched.append(url)
    return json.loads(Path(sys.argv[2]).read_text())


resolver = DidWebResolver(fetch) if len(sys.argv) > 2 else None
suite = EddsaJcsProofSuite()
verified = suite.verify(credential, resolver=resolver)

CHANGES = {
    "issuer": lambda c: c.update(issuer=c["issuer"] + "x"),
    "validFrom": lambda c: c.update(validFrom="2020-01-01T00:00:00Z"),
    "a sentence": lambda c: c["credentialSubject"]["sentences"][0].update(text="The opposite."),
    "a citation": lambda c: c["credentialSubject"]["citations"][0].update(title="Another"),
    "the label": lambda c: c["credentialSubject"].update(sensitivity="confidential"),
    "a block": lambda c: c["credentialSubject"]["blocks"].popitem(),
    "a new member": lambda c: c.update(note="endorsed"),
    "a term of the context": lambda c: c["@context"][1].update(note="urn:example:note"),
    "the time of the proof": lambda c: c["proof"].update(created="2020-01-01T00:00:00Z"),
    "a new member of the proof": lambda c: c["proof"].update(nonce="1"),
}
rejected = []
for name, change in CHANGES.items():
    changed = copy.deepcopy(credential)
    change(changed)
    try:
        suite.verify(changed, resolver=resolver)
    except SignatureInvalid:
        rejected.append(name)
    except ProofError as error:
        sys.exit(f"changed in {name}, it is refused for another reason: {error}")
    else:
        sys.exit(f"changed in {name}, it is accepted")

blocks = credential["credentialSubject"]["blocks"]
for name, text in blocks.items():
    cid = CID.decode(name)
    base, data = multibase.decode_raw(text)
    computed = CID("base32", 1, cid.codec, multihash.digest(data, "sha2-256"))
    if base.name != "base64url" or bytes(computed) != bytes(cid):
        sys.exit(f"the bytes of {name} have the CID {computed}")

print(json.dumps({
    "accepted": verified.issuer,
    "method": verified.proof["verificationMethod"],
    "fetched": fetched[:1],
    "rejected": rejected,
    "blocks": len(blocks),
}, indent=2))
