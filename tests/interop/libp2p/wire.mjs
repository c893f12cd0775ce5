// The few frames of Plumbline that this peer speaks: DAG-CBOR maps with `type` and `kind`, as docs say, and what it reads
// out of a gossiped log entry.
import * as dagCbor from '@ipld/dag-cbor'
import { base58btc } from 'multiformats/bases/base58'

export const HELLO = '/plumb/hello/1'
export const LOG = '/plumb/log/1'
export const TOPIC = 'plumb/notices/1/public'
export const OTHERS = ['/plumb/search/1', '/plumb/blocks/1', '/plumb/log/1', '/plumb/notice/1', '/plumb/teach/1']

export const helloFrame = certificate =>
  dagCbor.encode({ type: HELLO, kind: 'hello', certificate, agent: 'js-libp2p interop', heads: [] })

export const entriesFrame = publisher => dagCbor.encode({ type: LOG, kind: 'entries', publisher, from: 0, limit: 16 })

export function readFrame (bytes, type) {
  const frame = dagCbor.decode(bytes)
  if (frame.type !== type) {
    throw new Error(`a frame of type ${frame.type}, not ${type}`)
  }
  return frame
}

// A signed value is an envelope around the block that was signed.
const openSigned = bytes => dagCbor.decode(dagCbor.decode(bytes).block)

// A gossiped entry, as far as the notice in it. Entries of other kinds give null.
export function readNotice (bytes) {
  const gossip = readFrame(bytes, 'plumb/notices/1')
  const entry = readFrame(gossip.entry, 'plumb/log-entry/1')
  if (entry.kind !== 'notice') {
    return null
  }
  const notice = openSigned(entry.signed)
  return {
    publisher: gossip.publisher,
    index: gossip.index,
    kind: notice.kind,
    reason: notice.reason,
    note: notice.note,
    targets: notice.targets.map(cid => cid.toString())
  }
}

// The did:key of an Ed25519 key: multicodec 0xed01, then the key, in base58btc.
export const didOf = publicKey => 'did:key:' + base58btc.encode(Uint8Array.from([0xed, 0x01, ...publicKey]))
