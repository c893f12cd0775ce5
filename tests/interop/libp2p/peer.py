"""A py-libp2p peer of a Plumbline node. Prints one JSON line per step; ends with 1 and a line `error` if a step fails.

    peer.py request KEY-FILE REQUEST-FILE ORGANISATION DEPARTMENT
        makes a key and a certificate request for it, for `plumb org certify`
    peer.py meet KEY-FILE MULTIADDR CERTIFICATE-FILE
        dials, identifies, pings, says hello, and reads notices until one names a target
"""

import json
import os
import sys
import traceback

import dag_cbor
import multiaddr
import trio
from base58 import b58encode
from libp2p import new_host
from libp2p.crypto.ed25519 import create_new_key_pair
from libp2p.host.ping import PingService
from libp2p.identity.identify.identify import ID as IDENTIFY, parse_identify_response
from libp2p.network.stream.exceptions import StreamEOF
from libp2p.peer.peerinfo import info_from_p2p_addr
from libp2p.pubsub.gossipsub import GossipSub
from libp2p.pubsub.pubsub import Pubsub
from libp2p.tools.anyio_service import background_trio_service
from libp2p.utils.varint import encode_varint_prefixed, read_varint_prefixed_bytes

HELLO = "/plumb/hello/1"
TOPIC = "plumb/notices/1/public"
STEP_S = 30
NOTICE_S = 120


def say(event, **facts):
    print(json.dumps({"event": event, **facts}), flush=True)


def hello_frame(certificate):
    return dag_cbor.encode(
        {"type": HELLO, "kind": "hello", "certificate": certificate, "agent": "py-libp2p interop", "heads": []}
    )


def read_frame(data, kind_of):
    frame = dag_cbor.decode(data)
    if frame["type"] != kind_of:
        raise ValueError(f"a frame of type {frame['type']}, not {kind_of}")
    return frame


def read_notice(data):
    """A gossiped entry, as far as the notice in it; None for entries of other kinds."""
    gossip = read_frame(data, "plumb/notices/1")
    entry = read_frame(gossip["entry"], "plumb/log-entry/1")
    if entry["kind"] != "notice":
        return None
    notice = dag_cbor.decode(dag_cbor.decode(entry["signed"])["block"])
    return {
        "publisher": gossip["publisher"],
        "index": gossip["index"],
        "kind": notice["kind"],
        "reason": notice["reason"],
        "note": notice["note"],
        "targets": [cid.encode("base32") for cid in notice["targets"]],
    }


def seed_of(key_file):
    with open(key_file, encoding="ascii") as file:
        return bytes.fromhex(file.read().strip())


def request(key_file, request_file, organisation, department):
    seed = os.urandom(32)
    with open(os.open(key_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.write(seed.hex() + "\n")
    key = create_new_key_pair(seed).public_key.to_bytes()
    node = "did:key:z" + b58encode(bytes([0xED, 0x01]) + key).decode()
    kind = "plumb/certificate-request/1"
    with open(request_file, "w", encoding="utf-8") as file:
        asked = {"type": kind, "node": node, "department": f"department-{department}", "organisation": organisation}
        json.dump(asked, file)
    say("request", node=node)


async def until(holds):
    while not holds():
        await trio.sleep(0.02)


async def meet(key_file, address, certificate_file):
    with open(certificate_file, "rb") as file:
        certificate = file.read()
    host = new_host(key_pair=create_new_key_pair(seed_of(key_file)))
    pubsub = Pubsub(host, GossipSub(["/meshsub/1.1.0"], 6, 4, 12), strict_signing=True)

    async def answer_hello(stream):
        # Both sides say hello; who does not answer is closed.
        asked = read_frame(await read_varint_prefixed_bytes(stream), HELLO)
        await stream.write(encode_varint_prefixed(hello_frame(certificate)))
        await stream.close()
        say("asked", kind=asked["kind"], agent=asked["agent"])

    host.set_stream_handler(HELLO, answer_hello)
    async with host.run(listen_addrs=[multiaddr.Multiaddr("/ip4/127.0.0.1/tcp/0")]):
        async with background_trio_service(pubsub), background_trio_service(pubsub.router):
            await pubsub.wait_until_ready()
            notices = await pubsub.subscribe(TOPIC)
            there = info_from_p2p_addr(multiaddr.Multiaddr(address))
            with trio.fail_after(STEP_S):
                await host.connect(there)
            say("connected", address=address)

            with trio.fail_after(STEP_S):
                stream = await host.new_stream(there.peer_id, [IDENTIFY])
                # Identify is a protobuf with its length in front; the stream ends behind it.
                told = b""
                while True:
                    try:
                        part = await stream.read(64 * 1024)
                    except StreamEOF:
                        break
                    if not part:
                        break
                    told += part
            told = parse_identify_response(told)
            say("identified", agent=told.agent_version, protocol=told.protocol_version, protocols=list(told.protocols))

            with trio.fail_after(STEP_S):
                (rtt,) = await PingService(host).ping(there.peer_id)
            say("ping", ms=rtt)

            with trio.fail_after(STEP_S):
                stream = await host.new_stream(there.peer_id, [HELLO])
                await stream.write(encode_varint_prefixed(hello_frame(certificate)))
                answer = read_frame(await read_varint_prefixed_bytes(stream), HELLO)
            say("hello", kind=answer["kind"], agent=answer.get("agent"), reason=answer.get("reason"))
            if answer["kind"] != "hello":
                raise ValueError(f"not admitted: {answer.get('reason')}")

            with trio.fail_after(STEP_S):
                await until(lambda: there.peer_id in pubsub.peer_topics.get(TOPIC, set()))
            say("subscribed")
            with trio.fail_after(NOTICE_S):
                while True:
                    message = await notices.get()
                    notice = read_notice(message.data)
                    if notice is not None:
                        break
            say("notice", **notice)


def main(verb, *args):
    try:
        if verb == "request":
            request(*args)
        elif verb == "meet":
            trio.run(meet, *args)
        else:
            raise ValueError(f"unknown verb `{verb}`: request or meet")
    except BaseException as error:  # whatever it is, the caller reads of it
        say("error", message=repr(error), stack=traceback.format_exc())
        # Services of the library may hold the process up.
        os._exit(1)
    sys.stdout.flush()
    os._exit(0)


main(*sys.argv[1:])
