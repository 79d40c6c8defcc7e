// How much the cases on anvil send.
import * as Scale from "../Scale.ts"

export interface EvmScale extends Scale.Scale {
  /** Relayers. */
  readonly lanes: number
  /** Transactions of the one lane, and of each of several lanes. */
  readonly ofOne: number
  readonly ofEach: number
  /** Transactions of each of several lanes with the default window. */
  readonly usual: { readonly few: number; readonly many: number }
  readonly singles: number
  /** Transactions that are replaced and canceled. */
  readonly commanded: number
}

export const full: EvmScale = {
  ...Scale.full,
  lanes: 20,
  ofOne: 2000,
  ofEach: 200,
  usual: { few: 20, many: 100 },
  singles: 4,
  commanded: 20
}

export const smoke: EvmScale = {
  ...Scale.smoke,
  lanes: 3,
  ofOne: 30,
  ofEach: 10,
  usual: { few: 5, many: 10 },
  singles: 1,
  commanded: 2
}
