// Blocks: of miners, of a stranger with the same key, and of the fork of a lying provider.
import { behind, countOf, grow, minedIn } from "../../../../../src/testkit/chain/Blocks.ts"
import type { Mined } from "../../../../../src/testkit/chain/Blocks.ts"
import { after, executable } from "../../../../../src/testkit/chain/Pool.ts"
import { includedPrivately, isKept } from "./Privacy.ts"
import { foreignEffect } from "./Reader.ts"
import type { Bytes, Chain, World } from "./World.ts"

/** Bytes that left and whose nonce is the next one: any of them can be mined, whatever became of them in pools. */
const minable = (world: World, chain: Chain): ReadonlyArray<Bytes> =>
  [...world.bytes.values()].filter(
    ({ hash, nonce }) => (world.left.has(hash) || isKept(world, hash)) && nonce === countOf(chain)
  )

const minedOf = (bytes: Bytes, reverts: boolean): Mined<Bytes> => ({
  bytes,
  isSuccess: bytes.effect === undefined || !reverts
})

export const afterBlock = (world: World): void => {
  world.now += world.network.blockTime
  world.pool = after(countOf(world.chain), world.pool)
}

export const mine = (world: World, which: number, reverts = false): void => {
  const choices = minable(world, world.chain)
  const chosen = choices[which % Math.max(choices.length, 1)]
  world.chain = grow(world.chain, chosen === undefined ? [] : [minedOf(chosen, reverts)])
  afterBlock(world)
}

/** Everything executable in the pool, as a miner takes it, or what private providers have where the pool has nothing. */
export const mineFromPool = (world: World): void => {
  const pooled = executable(countOf(world.chain), world.pool)
  const taken = pooled.length > 0 ? pooled : includedPrivately(world)
  world.chain = grow(
    world.chain,
    taken.map((bytes) => minedOf(bytes, false))
  )
  afterBlock(world)
}

/** A transaction of the account that somebody else has signed. */
const foreignOn = (world: World, chain: Chain): Mined<Bytes> => {
  const nonce = countOf(chain)
  const hash = `${nonce} foreign ${++world.foreign}`
  const price = { maxFee: 1n, tip: 1n, cost: 1n, maxFees: 1n }
  const bytes: Bytes = { hash, nonce, ...price, effect: foreignEffect, request: undefined }
  world.bytes.set(hash, bytes)
  return { bytes, isSuccess: true }
}

export const foreign = (world: World): void => {
  world.chain = grow(world.chain, [foreignOn(world, world.chain)])
  afterBlock(world)
}

/** A fork of the liar's: without the newest blocks, with bytes that left, and longer than the true chain if it likes. */
export const fork = (world: World, depth: number, which: number, length: number): Chain => {
  let chain = behind(world.chain, depth)
  const choices = minable(world, chain)
  const chosen = choices[which % (choices.length + 1)]
  chain = grow(chain, [chosen === undefined ? foreignOn(world, chain) : minedOf(chosen, which % 2 === 1)])
  for (let block = 0; block < depth + length; block++) chain = grow(chain)
  return chain
}

export const effectsOf = (world: World, number: number): number =>
  minedIn(world.chain).filter(({ bytes, isSuccess }) => isSuccess && bytes.request === number).length
