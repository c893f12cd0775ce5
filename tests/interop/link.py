"""A user-space link between network namespaces: a switch among TAP devices with delay, loss and cuts.

    link.py --delay-ms 150 --loss 0.05 --cut-file FILE --seed N NAMESPACE=DEVICE ...

Each frame is delayed by `--delay-ms` in its direction (a round trip takes twice that) and is lost with probability
`--loss`. While the cut file holds groups of port numbers, such as `0,1|2,3,4`, nothing passes between the groups; when it
is empty or gone, everything does. Prints `ready` when all devices exist; they vanish with this process.

Needs root. The kernel of a test machine may have neither netem nor modules; TAP devices are all that this needs.
"""

import argparse
import ctypes
import errno
import fcntl
import heapq
import os
import random
import select
import signal
import struct
import sys
import time

TUNSETIFF = 0x400454CA
IFF_TAP = 0x0002
IFF_NO_PI = 0x1000
CLONE_NEWNET = 0x40000000
FRAME_BYTES_MAX = 65536
# Frames on their way. Past it the link is full, and frames are dropped as a router would.
FRAMES_MAX = 20000
LOOK_AT_CUT_S = 0.05

libc = ctypes.CDLL(None, use_errno=True)


def enter(fd):
    if libc.setns(fd, CLONE_NEWNET) != 0:
        code = ctypes.get_errno()
        raise OSError(code, "setns: " + os.strerror(code))


def open_tap(namespace, device):
    """A TAP device inside a namespace, held by this process, which stays outside."""
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(f"/var/run/netns/{namespace}", os.O_RDONLY)
    try:
        enter(there)
        tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH", device.encode(), IFF_TAP | IFF_NO_PI))
        return tap
    finally:
        enter(home)
        os.close(home)
        os.close(there)


class Cut:
    def __init__(self, path):
        self.path = path
        self.group_of = {}
        self.looked_at = 0.0

    def separates(self, a, b, now):
        if self.looked_at + LOOK_AT_CUT_S <= now:
            self.looked_at = now
            try:
                with open(self.path, encoding="ascii") as file:
                    groups = file.read().strip()
            except FileNotFoundError:
                groups = ""
            self.group_of = {
                int(port): place for place, group in enumerate(groups.split("|")) for port in group.split(",") if port
            }
        return bool(self.group_of) and self.group_of.get(a) != self.group_of.get(b)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--delay-ms", type=float, required=True)
    parser.add_argument("--loss", type=float, required=True)
    parser.add_argument("--cut-file", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("ports", nargs="+", metavar="NAMESPACE=DEVICE")
    args = parser.parse_args()
    taps = [open_tap(*port.split("=", 1)) for port in args.ports]
    port_of = {tap: port for port, tap in enumerate(taps)}
    dice, cut, delay = random.Random(args.seed), Cut(args.cut_file), args.delay_ms / 1000
    under_way, order, learned = [], 0, {}
    n_sent, n_lost, n_cut = 0, 0, 0

    def report(*_):
        print(f"frames {n_sent} lost {n_lost} cut {n_cut}", flush=True)
        sys.exit(0)

    signal.signal(signal.SIGTERM, report)
    print("ready", flush=True)
    while True:
        now = time.monotonic()
        wait = max(0.0, under_way[0][0] - now) if under_way else 1.0
        for tap in select.select(taps, [], [], wait)[0]:
            now = time.monotonic()
            try:
                frame = os.read(tap, FRAME_BYTES_MAX)
            except OSError as error:
                if error.errno in (errno.EAGAIN, errno.EIO):
                    continue
                raise
            source = port_of[tap]
            learned[frame[6:12]] = source
            known = learned.get(frame[0:6])
            for target in range(len(taps)) if known is None else (known,):
                if target == source:
                    continue
                n_sent += 1
                if cut.separates(source, target, now):
                    n_cut += 1
                elif dice.random() < args.loss or FRAMES_MAX <= len(under_way):
                    n_lost += 1
                else:
                    order += 1
                    heapq.heappush(under_way, (now + delay, order, target, frame))
        now = time.monotonic()
        while under_way and under_way[0][0] <= now:
            _, _, target, frame = heapq.heappop(under_way)
            try:
                os.write(taps[target], frame)
            except OSError as error:
                # A device that is down or full drops frames, like any other.
                if error.errno not in (errno.EAGAIN, errno.EIO, errno.ENOBUFS):
                    raise


main()
