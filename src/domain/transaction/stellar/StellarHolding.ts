// Waiting: the state stays, with a code, until the next look at the chain.
import { cause } from "../Cause.ts"
import type { Cause, Figures, KnownCode } from "../Cause.ts"
import { Command } from "../Rules.ts"
import type { Commands, Scope, Situation } from "../Rules.ts"
import type { Moment } from "../TransactionValues.ts"
import type { LedgerPoint } from "./Evidence.ts"
import type { Stellar } from "./Stellar.ts"
import { momentOf } from "./Stellar.ts"
import { ledgerTimeOf, publicSettings } from "./LedgerSettings.ts"
import type { LedgerSettings } from "./LedgerSettings.ts"
import { agreeing, pollAfter, signsAloneAfter } from "./StellarNumbers.ts"
import type { ProviderLook, StellarSeen } from "./StellarSeen.ts"

/** A provider that showed the account, and its newest ledger. */
export interface AskedProvider extends ProviderLook {
  readonly newest: LedgerPoint
  readonly account: NonNullable<ProviderLook["testimony"]["account"]>
}

/** The providers whose view counts before a signature: two, or the one that answers. */
export const askedOf = ({ looks }: StellarSeen): ReadonlyArray<AskedProvider> =>
  looks
    .flatMap((look) => {
      const { newest, testimony } = look
      return look.isStalled || newest === undefined || testimony.account === undefined
        ? []
        : [{ ...look, newest, account: testimony.account }]
    })
    .slice(0, agreeing)

/**
 * Whether their view is enough for a signature. If one of two fails for a moment, the other one could name a ledger that does
 * not exist yet as the one before which nothing of the envelope was applied.
 */
export const areEnough = (asked: ReadonlyArray<AskedProvider>, { aloneSince, configured }: StellarSeen, now: Moment) =>
  asked.length >= Math.min(configured, agreeing) ||
  (asked.length > 0 && aloneSince !== undefined && now >= aloneSince + signsAloneAfter)

/** The newest ledger of the provider that has the lowest one: no lie of another makes the time run ahead. */
export const ledgerOf = (asked: ReadonlyArray<{ readonly newest: LedgerPoint }>): LedgerPoint | undefined =>
  asked.map(({ newest }) => newest).toSorted((one, other) => one.closeTime - other.closeTime)[0]

const newestOf = ({ view }: Situation<Stellar>): LedgerPoint | undefined =>
  view._tag === "Seen"
    ? ledgerOf(view.looks.flatMap(({ newest }) => (newest === undefined ? [] : [{ newest }])))
    : undefined

/** What the network has voted, as far as a provider has said it. */
const settingsOf = ({ view }: Situation<Stellar>): LedgerSettings =>
  (view._tag === "Seen" ? view.settings : undefined) ?? publicSettings

/** A ledger time after the newest ledger, and then each quarter of it until a new one is seen. */
export const nextPoll = (situation: Situation<Stellar>): Moment => {
  const { transaction, now } = situation
  const newest = newestOf(situation)
  const wait = ledgerTimeOf(settingsOf(situation)) + pollAfter.ledger
  const expected = newest === undefined ? now : momentOf(newest.closeTime) + wait
  const next = expected > now && expected <= now + wait ? expected : now + pollAfter.again
  if (transaction.state !== "pending") return next
  const own = [transaction.validUntil, transaction.notBefore ?? 0].filter((moment) => moment > now)
  return Math.min(next, ...own)
}

export const pollNext = (situation: Situation<Stellar>): Commands<Stellar> => [
  Command.PollAt({ at: nextPoll(situation) })
]

export const holdFor = (situation: Situation<Stellar>, why: Cause, scope: Scope = "transaction"): Commands<Stellar> => [
  Command.Hold({ cause: why, scope }),
  Command.PollAt({ at: nextPoll(situation) })
]

export const hold = (
  situation: Situation<Stellar>,
  code: KnownCode,
  figures: Figures = {},
  scope: Scope = "transaction"
): Commands<Stellar> => holdFor(situation, cause(code, figures), scope)
