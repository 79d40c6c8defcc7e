// Pseudo-random choices from a seed and an index, so that a case is the same on every machine and in every order.

export interface Random {
  /** An integer of 0 to `below` - 1. */
  readonly below: (below: number) => number
  /** Both ends are included. */
  readonly between: (least: number, most: number) => number
  readonly chance: (probability: number) => boolean
  readonly pick: <A>(from: ReadonlyArray<A>) => A
  readonly times: <A>(count: number, make: () => A) => Array<A>
}

/** The finalizer of MurmurHash3, which makes neighbouring numbers very different. */
const scatter = (value: number): number => {
  let hash = value | 0
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

export const make = (seed: number, index: number): Random => {
  const origin = scatter(scatter(seed) ^ index)
  let step = 0
  const next = () => scatter(origin + Math.imul(++step, 0x9e3779b9)) / 2 ** 32
  const below = (limit: number) => Math.floor(next() * limit)
  const random: Random = {
    below,
    between: (least, most) => least + below(most - least + 1),
    chance: (probability) => next() < probability,
    pick: (from) => from[below(from.length)] as (typeof from)[number],
    times: (count, makeOne) => Array.from({ length: count }, makeOne)
  }
  return random
}
