// How much the cases on the stand-in ledger send.
import * as Scale from "../Scale.ts"

export interface StellarScale extends Scale.Scale {
  /** Channels of one relayer, and of each of two others. */
  readonly few: number
  readonly many: number
  /** Ledgers that the transactions of a case fill: of one account, of the few channels, and of the many. */
  readonly ledgers: { readonly one: number; readonly few: number; readonly many: number; readonly calls: number }
  /** Relayers that pay for envelopes of users, and users of each. */
  readonly sponsors: number
  readonly users: number
  /** Envelopes of users in flight when a ledger closes, by relayers that have no other. */
  readonly flying: number
  readonly singles: number
}

export const full: StellarScale = {
  ...Scale.full,
  few: 50,
  many: 100,
  ledgers: { one: 60, few: 20, many: 10, calls: 4 },
  sponsors: 20,
  users: 64,
  flying: 2000,
  singles: 4
}

export const smoke: StellarScale = {
  ...Scale.smoke,
  few: 2,
  many: 2,
  ledgers: { one: 2, few: 2, many: 2, calls: 1 },
  sponsors: 2,
  users: 3,
  flying: 6,
  singles: 1
}

/** Relayers without channels. `flying` users need so many, because each pays for 64 at once. */
export const plainOf = ({ flying, sponsors, users }: StellarScale): number =>
  Math.max(sponsors, Math.ceil(flying / users))
