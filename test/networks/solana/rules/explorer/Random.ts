// A generator of random numbers with a seed, so that an episode can be run again.
export interface Random {
  readonly chance: (probability: number) => boolean
  /** A number from 0 to `below` − 1. */
  readonly int: (below: number) => number
  readonly pick: <A>(from: ReadonlyArray<A>) => A
}

/** xorshift32. The first numbers of close seeds are close, so they are left out. */
export const random = (seed: number): Random => {
  let state = seed | 1
  const next = () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
  for (let index = 0; index < 8; index++) next()
  const int = (below: number) => Math.floor(next() * below)
  const pick = <A>(from: ReadonlyArray<A>): A => {
    const picked = from[int(from.length)]
    if (picked === undefined) throw new Error("nothing to pick from")
    return picked
  }
  return { chance: (probability) => next() < probability, int, pick }
}
