// Blocks: of miners, of a stranger with the same key, and of the fork of a lying provider.
import { behind, countOf, grow, minedIn } from "../../../../../src/testkit/chain/Blocks.ts"
import type { Mined } from "../../../../../src/testkit/chain/Blocks.ts"
import { after, executable } from "../../../../../src/testkit/chain/Pool.ts"
import { includedPrivately, isKept } from "./Privacy.ts"
import { codeOf, noDelegate } from "../../../../../src/networks/evm/rules/Authorizations.ts"
import { executor, foreignEffect } from "./World.ts"
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

const authorizationOf = (hash: string): string => `${hash} authorization`

/** An authorization that nodes have seen, as it uses a nonce. */
const applied = ({ hash, nonce, delegate = noDelegate }: Bytes): Mined<Bytes> => ({
  bytes: {
    hash: authorizationOf(hash),
    nonce: nonce + 1,
    maxFee: 0n,
    tip: 0n,
    cost: 0n,
    maxFees: 0n,
    effect: undefined,
    request: undefined,
    authorizes: delegate
  },
  isSuccess: true
})

/** The bytes that can be mined on a chain in this order. `isApplied`: whether the gas of delegations suffices for their authorizations. */
const includedIn = (
  chain: Chain,
  all: ReadonlyArray<Bytes>,
  reverts = false,
  isApplied = true
): Array<Mined<Bytes>> => {
  const found: Array<Mined<Bytes>> = []
  for (const bytes of all) {
    if (bytes.nonce !== countOf(chain) + found.length) continue
    found.push(minedOf(bytes, reverts))
    if (bytes.delegate !== undefined && isApplied) found.push(applied(bytes))
  }
  return found
}

/** The code of the account at the end of a chain. */
export const codeIn = (chain: Chain): string => {
  const newest = minedIn(chain).findLast(({ bytes }) => bytes.authorizes !== undefined)
  return newest === undefined ? "0x" : codeOf({ address: newest.bytes.authorizes ?? noDelegate })
}

/** Somebody sends an authorization that was seen and is valid now. */
export const stranger = (world: World): void => {
  const seen = [...world.bytes.values()].find(
    ({ delegate, hash, nonce }) => delegate !== undefined && world.left.has(hash) && nonce + 1 === countOf(world.chain)
  )
  if (seen === undefined) return
  world.chain = grow(world.chain, [applied(seen)])
  afterBlock(world)
}

export const afterBlock = (world: World): void => {
  world.now += world.network.blockTime
  world.pool = after(countOf(world.chain), world.pool)
}

export const mine = (world: World, which: number, reverts = false): void => {
  const choices = minable(world, world.chain)
  const chosen = choices[which % Math.max(choices.length, 1)]
  // A revert outlives nothing here: it stands for gas that ends inside the list, which undoes the authorization, too.
  world.chain = grow(world.chain, chosen === undefined ? [] : includedIn(world.chain, [chosen], reverts, !reverts))
  afterBlock(world)
}

/** Everything executable in the pool, as a miner takes it, or what private providers have where the pool has nothing. */
export const mineFromPool = (world: World): void => {
  const pooled = executable(countOf(world.chain), world.pool)
  const taken = pooled.length > 0 ? pooled : includedPrivately(world)
  world.chain = grow(world.chain, includedIn(world.chain, taken))
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
  chain = grow(
    chain,
    chosen === undefined ? [foreignOn(world, chain)] : includedIn(chain, [chosen], which % 2 === 1, which % 2 === 0)
  )
  for (let block = 0; block < depth + length; block++) chain = grow(chain)
  return chain
}

/** Whether mined bytes did what they are for: many calls need the executor, and a delegation is its authorization. */
const hasEffect = (world: World, { bytes, block, isSuccess }: ReturnType<typeof minedIn<Bytes>>[number]): boolean => {
  const code = codeIn(world.chain.slice(0, block.number + 1))
  if (bytes.delegate !== undefined) return code === codeOf({ address: bytes.delegate })
  return isSuccess && (bytes.isBatch !== true || code === codeOf({ address: executor }))
}

export const effectsOf = (world: World, number: number): number =>
  minedIn(world.chain).filter((mined) => mined.bytes.request === number && hasEffect(world, mined)).length

/** Whether somebody sent the authorization of a delegation later: its gas had ended inside the list. */
export const isAppliedLater = (world: World, number: number): boolean =>
  minedIn(world.chain).some(
    ({ bytes }) =>
      bytes.request === number &&
      minedIn(world.chain).some(({ bytes: { hash } }) => hash === authorizationOf(bytes.hash))
  )
