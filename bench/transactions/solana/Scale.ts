// How much the cases on solana send.
import * as Scale from "../Scale.ts"

export interface SolanaScale extends Scale.Scale {
  /** Between two blocks. */
  readonly blockMillis: number
  /** Relayers. */
  readonly lanes: number
  /** Transactions of the one relayer, and of each of several. */
  readonly ofOne: number
  readonly ofEach: number
  readonly singles: number
  /** Transactions of which nodes drop a tenth of the sends. */
  readonly swallowed: number
  /** Signatures that each library makes. */
  readonly signatures: number
}

export const full: SolanaScale = {
  ...Scale.full,
  blockMillis: 400,
  lanes: 20,
  ofOne: 2000,
  ofEach: 200,
  singles: 4,
  swallowed: 1000,
  signatures: 2000
}

/** With short blocks: a transaction is final after 32 of them. */
export const smoke: SolanaScale = {
  ...Scale.smoke,
  blockMillis: 40,
  lanes: 3,
  ofOne: 30,
  ofEach: 10,
  singles: 1,
  swallowed: 20,
  signatures: 10
}
