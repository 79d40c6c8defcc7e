// Blocks: of miners, of a stranger with the same key, and of the fork of a lying provider.
import { countOf, grow, minedIn } from "./Chain.ts"
import type { Chain, MinedTransaction } from "./Chain.ts"
import type { Bytes } from "./Node.ts"
import { foreignEffect } from "./Reader.ts"
import type { World } from "./World.ts"

/** Bytes that left and whose nonce is the next one: any of them can be mined, whatever became of them in pools. */
const minable = (world: World, chain: Chain): ReadonlyArray<Bytes> =>
  [...world.bytes.values()].filter(({ hash, nonce }) => world.left.has(hash) && nonce === countOf(chain))

const minedOf = ({ hash, nonce, effect }: Bytes, reverts: boolean): MinedTransaction => ({
  hash,
  nonce,
  isSuccess: effect === undefined || !reverts
})

export const afterBlock = (world: World): void => {
  world.now += world.network.blockTime
  const count = countOf(world.chain)
  world.pool = new Map([...world.pool].filter(([nonce]) => nonce >= count))
}

export const mine = (world: World, which: number, reverts = false): void => {
  const choices = minable(world, world.chain)
  const chosen = choices[which % Math.max(choices.length, 1)]
  world.chain = grow(world.chain, chosen === undefined ? [] : [minedOf(chosen, reverts)])
  afterBlock(world)
}

/** Everything executable in the pool, as a miner takes it. */
export const mineFromPool = (world: World): void => {
  const mined: Array<MinedTransaction> = []
  for (let nonce = countOf(world.chain); world.pool.has(nonce); nonce++) {
    const bytes = world.pool.get(nonce)
    if (bytes !== undefined) mined.push(minedOf(bytes, false))
  }
  world.chain = grow(world.chain, mined)
  afterBlock(world)
}

/** A transaction of the account that somebody else has signed. */
const foreignOn = (world: World, chain: Chain): MinedTransaction => {
  const nonce = countOf(chain)
  const hash = `${nonce} foreign ${++world.foreign}`
  const fees = { type: "legacy", gasPrice: 1n } as const
  world.bytes.set(hash, { hash, nonce, fees, cost: 1n, maxFees: 1n, effect: foreignEffect, request: undefined })
  return { hash, nonce, isSuccess: true }
}

export const foreign = (world: World): void => {
  world.chain = grow(world.chain, [foreignOn(world, world.chain)])
  afterBlock(world)
}

/** A fork of the liar's: without the newest blocks, with bytes that left, and longer than the true chain if it likes. */
export const fork = (world: World, depth: number, which: number, length: number): Chain => {
  let chain: Chain = world.chain.slice(0, Math.max(world.chain.length - depth, 1))
  const choices = minable(world, chain)
  const chosen = choices[which % (choices.length + 1)]
  chain = grow(chain, [chosen === undefined ? foreignOn(world, chain) : minedOf(chosen, which % 2 === 1)])
  for (let block = 0; block < depth + length; block++) chain = grow(chain)
  return chain
}

export const effectsOf = (world: World, number: number): number =>
  minedIn(world.chain).filter(({ hash, isSuccess }) => isSuccess && world.bytes.get(hash)?.request === number).length
