// Pseudo-random numbers from a seed.

export interface Random {
  /** An integer from `from` to `to`, both included. */
  readonly int: (from: number, to: number) => number
  readonly pick: <const A>(choices: readonly [A, ...ReadonlyArray<A>]) => A
}

/** The generator mulberry32. */
export const make = (seed: number): Random => {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const int = (from: number, to: number) => from + Math.floor(next() * (to - from + 1))
  return { int, pick: (choices) => choices[int(0, choices.length - 1)] ?? choices[0] }
}
