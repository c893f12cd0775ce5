// A js-libp2p peer of a Plumbline node. Prints one JSON line per step; ends with 1 and a line `error` if a step fails.
//
//   node peer.mjs request KEY-FILE REQUEST-FILE ORGANISATION DEPARTMENT
//       makes a key and a certificate request for it, for `plumb org certify`
//   node peer.mjs meet KEY-FILE MULTIADDR CERTIFICATE-FILE
//       dials, identifies, pings, says hello, and reads notices until one names a target
//   node peer.mjs knock KEY-FILE MULTIADDR [CERTIFICATE-FILE]
//       dials and says what a stranger, or the holder of a certificate that is not trusted, gets to hear
//   node peer.mjs giant|streams|replay KEY-FILE MULTIADDR CERTIFICATE-FILE
//       is admitted, and then claims frames of 1 GiB, opens 10,000 streams, or sends old messages as fast as it can
import { readFileSync, writeFileSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { noise } from '@chainsafe/libp2p-noise'
import { quic } from '@chainsafe/libp2p-quic'
import { yamux } from '@chainsafe/libp2p-yamux'
import { generateKeyPairFromSeed } from '@libp2p/crypto/keys'
import { gossipsub } from '@libp2p/gossipsub'
import { identify } from '@libp2p/identify'
import { ping } from '@libp2p/ping'
import { tcp } from '@libp2p/tcp'
import { lpStream } from '@libp2p/utils'
import { multiaddr } from '@multiformats/multiaddr'
import { createLibp2p } from 'libp2p'
import { HELLO, LOG, OTHERS, TOPIC, didOf, entriesFrame, helloFrame, readFrame, readNotice } from './wire.mjs'

const STEP_MS = 30_000
const NOTICE_MS = 120_000
const FRAME_BYTES_MAX = 2 * 1024 * 1024

const say = (event, facts = {}) => console.log(JSON.stringify({ event, ...facts }))
const within = (ms, what, promise) => Promise.race([
  promise,
  new Promise((_resolve, reject) => setTimeout(() => reject(new Error(`${what}: nothing within ${ms} ms`)), ms).unref())
])

const keyOf = file => generateKeyPairFromSeed('Ed25519', Buffer.from(readFileSync(file, 'utf8').trim(), 'hex'))

async function request (keyFile, requestFile, organisation, department) {
  const seed = randomBytes(32)
  writeFileSync(keyFile, seed.toString('hex') + '\n', { mode: 0o600 })
  const key = await generateKeyPairFromSeed('Ed25519', seed)
  const node = didOf(key.publicKey.raw)
  const type = 'plumb/certificate-request/1'
  writeFileSync(requestFile, JSON.stringify({ type, node, department: `department-${department}`, organisation }))
  say('request', { node })
}

async function start (keyFile) {
  return createLibp2p({
    // What this side would not do is not to keep it from trying.
    connectionManager: { reconnectRetries: 0 },
    privateKey: await keyOf(keyFile),
    transports: [tcp(), quic()],
    connectionEncrypters: [noise()],
    streamMuxers: [yamux()],
    services: { identify: identify(), ping: ping(), pubsub: gossipsub({ emitSelf: false }) }
  })
}

// One request and its answer, each a length and that many bytes.
async function ask (connection, protocol, bytes) {
  const stream = await connection.newStream(protocol, { signal: AbortSignal.timeout(STEP_MS) })
  const frames = lpStream(stream, { maxDataLength: FRAME_BYTES_MAX })
  await frames.write(bytes, { signal: AbortSignal.timeout(STEP_MS) })
  const answer = await frames.read({ signal: AbortSignal.timeout(STEP_MS) })
  await stream.close().catch(() => {})
  return answer.subarray()
}

async function connect (libp2p, address) {
  const identified = new Promise(resolve => libp2p.addEventListener('peer:identify', event => resolve(event.detail)))
  const connection = await within(STEP_MS, 'dial', libp2p.dial(multiaddr(address)))
  say('connected', { address: connection.remoteAddr.toString() })
  const { agentVersion, protocolVersion, protocols } = await within(STEP_MS, 'identify', identified)
  say('identified', { agent: agentVersion, protocol: protocolVersion, protocols })
  return connection
}

// On a connection that is a few milliseconds old js-libp2p sometimes finds its first ping stream closed; once more is enough.
async function pingTwice (libp2p, connection) {
  const once = () => within(STEP_MS, 'ping', libp2p.services.ping.ping(connection.remotePeer))
  const ms = await once().catch(() => once())
  say('ping', { ms })
}

async function meet (keyFile, address, certificateFile) {
  const certificate = readFileSync(certificateFile)
  const libp2p = await start(keyFile)
  // Both sides say hello; who does not answer is closed.
  await libp2p.handle(HELLO, async stream => {
    const frames = lpStream(stream, { maxDataLength: FRAME_BYTES_MAX })
    const asked = readFrame((await frames.read()).subarray(), HELLO)
    await frames.write(helloFrame(certificate))
    await stream.close().catch(() => {})
    say('asked', { kind: asked.kind, agent: asked.agent })
  })
  const noticed = new Promise(resolve => {
    libp2p.services.pubsub.addEventListener('gossipsub:message', ({ detail: { msg } }) => {
      const notice = msg.topic === TOPIC ? readNotice(msg.data) : null
      if (notice != null) {
        resolve(notice)
      }
    })
  })
  libp2p.services.pubsub.subscribe(TOPIC)
  const connection = await connect(libp2p, address)
  await pingTwice(libp2p, connection)
  const answer = readFrame(await ask(connection, HELLO, helloFrame(certificate)), HELLO)
  say('hello', { kind: answer.kind, agent: answer.agent, reason: answer.reason, heads: answer.heads?.length })
  if (answer.kind !== 'hello') {
    throw new Error(`not admitted: ${answer.reason}`)
  }
  const subscribed = () => libp2p.services.pubsub.getSubscribers(TOPIC).length > 0
  await within(STEP_MS, 'subscription', (async () => {
    while (!subscribed()) {
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  })())
  say('subscribed')
  say('notice', await within(NOTICE_MS, 'notice', noticed))
  await libp2p.stop()
}

// What is answered to whoever is not admitted.
async function knock (keyFile, address, certificateFile) {
  const libp2p = await start(keyFile)
  let heard = 0
  libp2p.services.pubsub.addEventListener('gossipsub:message', () => { heard++ })
  libp2p.services.pubsub.subscribe(TOPIC)
  // Keeps the node's own hello waiting, so that there is time to try things before it closes.
  await libp2p.handle(HELLO, () => new Promise(() => {}))
  const first = await connect(libp2p, address)
  await pingTwice(libp2p, first)
  const subscribers = () => libp2p.services.pubsub.getSubscribers(TOPIC).length
  // Garbage where a certificate should be, or one of an organisation that is not trusted.
  const certificate = certificateFile != null ? readFileSync(certificateFile) : Uint8Array.from([1, 2, 3])
  const hello = await ask(first, HELLO, helloFrame(certificate))
    .then(bytes => readFrame(bytes, HELLO), error => ({ kind: 'closed', reason: error.message }))
  say('hello', { kind: hello.kind, reason: hello.reason })
  for (const protocol of OTHERS) {
    // Whoever asks before it is admitted loses the connection, so each is tried on one of its own.
    await libp2p.hangUp(first.remotePeer).catch(() => {})
    const answer = await within(STEP_MS, 'dial', libp2p.dial(multiaddr(address)))
      .then(connection => ask(connection, protocol, Uint8Array.from([0xa0])))
      .then(bytes => ({ answered: true, bytes: bytes.length }), error => ({ answered: false, error: error.message }))
    say('asked', { protocol, ...answer })
  }
  say('gossip', { messages: heard, subscribers: subscribers() })
  await libp2p.stop()
}

// Admitted, with a connection to misuse.
async function enter (keyFile, address, certificateFile) {
  const certificate = readFileSync(certificateFile)
  const libp2p = await start(keyFile)
  await libp2p.handle(HELLO, async stream => {
    const frames = lpStream(stream, { maxDataLength: FRAME_BYTES_MAX })
    await frames.read()
    await frames.write(helloFrame(certificate))
    await stream.close().catch(() => {})
  })
  const connection = await within(STEP_MS, 'dial', libp2p.dial(multiaddr(address)))
  const answer = readFrame(await ask(connection, HELLO, helloFrame(certificate)), HELLO)
  say('hello', { kind: answer.kind, reason: answer.reason })
  return { libp2p, connection, certificate }
}

const until = async (ms, holds) => {
  const begun = Date.now()
  while (!holds() && Date.now() - begun < ms) {
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  return holds()
}

// The length of a frame of 1 GiB, and some of it.
async function giant (keyFile, address, certificateFile) {
  const { libp2p, connection } = await enter(keyFile, address, certificateFile)
  const claim = Uint8Array.from([0x80, 0x80, 0x80, 0x80, 0x04])
  let tried = 0
  let answered = 0
  while (connection.status === 'open' && tried < 1000) {
    tried++
    try {
      const stream = await connection.newStream(OTHERS[tried % OTHERS.length], { signal: AbortSignal.timeout(STEP_MS) })
      stream.send(claim)
      stream.send(new Uint8Array(1024 * 1024))
      answered += await lpStream(stream).read({ signal: AbortSignal.timeout(STEP_MS) }).then(() => 1, () => 0)
    } catch {}
  }
  const closed = await until(STEP_MS, () => connection.status !== 'open')
  say('giant', { tried, answered, closed })
  await libp2p.stop()
}

async function streams (keyFile, address, certificateFile) {
  const { libp2p, connection } = await enter(keyFile, address, certificateFile)
  let opened = 0
  let failed = 0
  const open = async protocol => {
    const options = { signal: AbortSignal.timeout(STEP_MS), maxOutboundStreams: 20_000 }
    await connection.newStream(protocol, options).then(() => { opened++ }, () => { failed++ })
  }
  const opening = []
  for (let place = 0; place < 10_000; place++) {
    opening.push(open(OTHERS[place % OTHERS.length]))
    if (place % 100 === 99) {
      await new Promise(resolve => setTimeout(resolve, 1))
    }
  }
  await Promise.race([Promise.all(opening), new Promise(resolve => setTimeout(resolve, STEP_MS))])
  const standing = connection.streams.filter(stream => stream.status === 'open').length
  say('streams', { opened, failed, standing })
  await libp2p.stop()
}

// Old messages again and again: requests that were answered once.
async function replay (keyFile, address, certificateFile) {
  const { libp2p, connection, certificate } = await enter(keyFile, address, certificateFile)
  const publisher = didOf(connection.remotePeer.publicKey.raw)
  const old = entriesFrame(publisher)
  let answered = 0
  let refused = 0
  // What fails at once fails again before the event loop turns, which would never hear that the connection is closed.
  const breath = () => new Promise(resolve => setImmediate(resolve))
  const ever = async () => {
    while (connection.status === 'open' && answered + refused < 100_000) {
      await ask(connection, LOG, old).then(() => { answered++ }, () => { refused++; return breath() })
    }
  }
  const hellos = async () => {
    while (connection.status === 'open') {
      await ask(connection, HELLO, helloFrame(certificate)).catch(breath)
    }
  }
  await Promise.race([Promise.all([...Array(16).keys()].map(ever).concat(hellos())), until(NOTICE_MS, () => connection.status !== 'open')])
  say('replay', { answered, refused, closed: connection.status !== 'open' })
  await libp2p.stop()
}

const [verb, ...args] = process.argv.slice(2)
const verbs = { request, meet, knock, giant, streams, replay }
try {
  if (verbs[verb] == null) {
    throw new Error(`unknown verb \`${verb}\`; see the head of this file`)
  }
  await verbs[verb](...args)
  process.exit(0)
} catch (error) {
  say('error', { message: error.message, stack: error.stack })
  process.exit(1)
}
