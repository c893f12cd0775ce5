// Opens a bundle with @ipld/car, @ipld/dag-cbor and multiformats: every CID is computed again, every DAG-CBOR block is
// decoded and encoded to the same bytes, and links are followed from the root. Prints what it found as JSON.
//
//     node check_car.mjs answer.car

import { readFile } from 'node:fs/promises'
import { CarReader } from '@ipld/car'
import * as dagCbor from '@ipld/dag-cbor'
import * as Block from 'multiformats/block'
import { CID } from 'multiformats/cid'
import * as raw from 'multiformats/codecs/raw'
import { sha256 } from 'multiformats/hashes/sha2'

const codecs = { [dagCbor.code]: dagCbor, [raw.code]: raw }
const fail = (text) => {
  console.error(text)
  process.exit(1)
}

const car = await CarReader.fromBytes(await readFile(process.argv[2]))
const roots = await car.getRoots()
if (roots.length !== 1) fail(`${roots.length} roots`)

const blocks = new Map()
for await (const { cid, bytes } of car.blocks()) {
  const codec = codecs[cid.code] ?? fail(`${cid} has codec ${cid.code}`)
  const computed = CID.createV1(codec.code, await sha256.digest(bytes))
  if (!computed.equals(cid)) fail(`the bytes of ${cid} have the CID ${computed}`)
  const block = Block.createUnsafe({ cid, bytes, codec })
  if (Buffer.compare(Buffer.from(codec.encode(block.value)), Buffer.from(bytes)) !== 0) fail(`${cid} is not canonical`)
  blocks.set(cid.toString(), block)
}

const reached = new Set()
const outside = new Set()
const follow = (cid) => {
  const name = cid.toString()
  if (reached.has(name) || outside.has(name)) return
  const block = blocks.get(name)
  if (block === undefined) return outside.add(name)
  reached.add(name)
  for (const [, link] of block.links()) follow(link)
}
follow(roots[0])
for (const name of blocks.keys()) if (!reached.has(name)) fail(`no link reaches ${name}`)

const value = (cid) => blocks.get(cid.toString()).value
const seal = value(roots[0])
const bundle = value(seal.bundle)
const answer = value(bundle.answer)
console.log(JSON.stringify({
  root: roots[0].toString(),
  bundle: seal.bundle.toString(),
  issuer: bundle.issuer,
  blocks: blocks.size,
  reached: reached.size,
  outside: outside.size,
  question: bundle.query,
  sentences: answer.claims.map((claim) => claim.text),
  cited: bundle.evidence.map(({ chunk }) => value(chunk).text),
  logged: value(seal.logged).index
}, null, 2))
