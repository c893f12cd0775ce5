"""Signs a small credential with openvc-core and prints it: what somebody else's eddsa-jcs-2022 looks like.

With --fixture it is signed with a fixed key at a fixed time, which is how
fixtures/credentials/openvc-eddsa-jcs-2022.json was made. Otherwise the key is new.
"""

import base64
import json
import sys
from datetime import datetime, timezone

from openvc.keys import Ed25519SigningKey
from openvc.multibase import encode_multibase
from openvc.proof.di_jcs import EddsaJcsProofSuite

FIXTURE = "--fixture" in sys.argv


def b64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def fixed_key() -> Ed25519SigningKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    seed = bytes(range(32))
    public = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    return Ed25519SigningKey.from_jwk(
        {"kty": "OKP", "crv": "Ed25519", "d": b64url(seed), "x": b64url(public)}, "fixture")


key = fixed_key() if FIXTURE else Ed25519SigningKey.generate("new")
multikey = encode_multibase(b"\xed\x01" + key.public_key_raw())
did = f"did:key:{multikey}"
credential = {
    "@context": ["https://www.w3.org/ns/credentials/v2", {"quantity": "urn:example:quantity"}],
    "type": ["VerifiableCredential"],
    "issuer": did,
    "validFrom": "2026-01-01T00:00:00Z",
    # Names that sort otherwise in UTF-16 than in UTF-8, escapes, and whole numbers.
    "credentialSubject": {
        "id": "urn:example:thing",
        "quantity": 3,
        "negative": -9007199254740991,
        "\ufb33": "dagesh",
        "\U0001f600": "grin",
        "\u20ac": "euro \" \\ / \b \f \n \r \t \u000f \u007f",
        "empty": {},
        "list": [True, False, None, "", []],
    },
}
secured = EddsaJcsProofSuite().add_proof(
    credential,
    signing_key=key,
    verification_method=f"{did}#{multikey}",
    created=datetime(2026, 1, 1, tzinfo=timezone.utc) if FIXTURE else None,
)
# The suite signs the proof with the document's context in it and leaves the context out of what it embeds. The
# specification (vc-di-eddsa, 3.3.1) embeds it, and openvc verifies both.
secured["proof"]["@context"] = secured["@context"]
EddsaJcsProofSuite().verify(secured)
print(json.dumps(secured, indent=2, ensure_ascii=False))
