// The last block height at which bytes can land. It does not rest on what one provider says.
import type { Lifetime } from "./Preparation.ts"
import { blockhashLife, boundMargin } from "./SolanaNumbers.ts"

/** `getLatestBlockhash` and `getBlockHeight` of one provider at the commitment `confirmed`. */
export interface Reported {
  readonly lastValid: number
  readonly height: number
}

/** What another provider says of the blockhash, its newest block height, and the life that it reports. */
export interface Second {
  readonly isValid: boolean
  readonly height: number
  readonly life: number
}

interface Lives {
  readonly minimum: number
  readonly maximum: number
}

const isLife = (life: number, { minimum, maximum }: Lives): boolean => life >= minimum && life <= maximum

/** Whether a life in blocks is one that a provider may report. */
export const isLifeOf = (life: number): boolean => isLife(life, blockhashLife)

/**
 * A blockhash that exists when the others are asked is not above their chains, so that their heights limit what a lying
 * provider can understate. The same holds for the life: the longest one counts. Undefined: another pair is needed.
 */
export const boundOf = (
  { lastValid, height }: Reported,
  seconds: ReadonlyArray<Second>,
  lives: Lives = blockhashLife
): number | undefined => {
  const all = [lastValid - height, ...seconds.map(({ life }) => life)]
  if (seconds.length === 0 || all.some((life) => !isLife(life, lives))) return undefined
  if (!seconds.every(({ isValid }) => isValid)) return undefined
  return Math.max(lastValid, Math.max(...seconds.map((second) => second.height)) + Math.max(...all)) + boundMargin
}

/** What a provider says of the blockhash that a request brings. */
export interface OwnAnswer extends Second {
  /** The slot of the answer. */
  readonly slot: number
}

/**
 * Nothing says how old such a blockhash is, so its life is counted from now. Its bytes may have landed before the service saw
 * them, but not longer ago than two lives.
 */
export const boundOfOwn = (
  blockhash: string,
  answers: ReadonlyArray<OwnAnswer>,
  need: number,
  lives: Lives = blockhashLife
): Lifetime => {
  if (answers.filter(({ isValid }) => !isValid).length >= need) return "dead"
  const valid = answers.filter(({ isValid, life }) => isValid && isLife(life, lives))
  if (valid.length < need) return "unavailable"
  const life = Math.max(...valid.map((answer) => answer.life))
  return {
    blockhash,
    bound: Math.max(...valid.map(({ height }) => height)) + life + boundMargin,
    signedSlot: Math.max(0, Math.min(...valid.map(({ slot }) => slot)) - 2 * life)
  }
}
