// Decisions about envelopes that can still be applied: they are sent again, or get a new envelope at the same place, until they expire.
import type { Figures } from "../Cause.ts"
import { present } from "../Presentation.ts"
import { Command, firstOf } from "../Rules.ts"
import type { Commands, Row, Situation } from "../Rules.ts"
import { currentAttempts } from "../Transaction.ts"
import type { Attempt } from "../Transaction.ts"
import { decideSignature } from "./DecideSignature.ts"
import { ledgerClock, noRoomForPaidCalls, publicSettings, takesPaidCalls } from "./LedgerSettings.ts"
import { againAfterUnknown, isSendable } from "./QueueAnswer.ts"
import type { Stellar } from "./Stellar.ts"
import { momentOf } from "./Stellar.ts"
import { fundsFor } from "./StellarFunds.ts"
import { areEnough, askedOf, hold } from "./StellarHolding.ts"
import { leastValidity, maxAttempts, maxClockDifference, sendAgainAfter } from "./StellarNumbers.ts"
import type { StellarSeen } from "./StellarSeen.ts"

interface Sending extends StellarSeen {
  readonly newest: Attempt<Stellar>
  /** Unix seconds: the lowest close time that is known. */
  readonly closeTime: number
}

/** A new envelope at the same place is always safe: the network applies one of them at most. */
const refresh: Row<Stellar, Sending> = (situation) => {
  const { transaction, view, terms } = situation
  const { facts, intent, restored, validUntil, place } = transaction
  const { closeTime, newest } = view
  const { refusal } = newest
  const isGuest = facts.guest !== undefined
  const isDue = refusal?.class === "fee" || (refusal?.class === "resources" && !isGuest)
  const isOver = currentAttempts(transaction).length >= maxAttempts
  if (!isDue || isOver || intent !== "execute" || restored) return undefined
  const until = isGuest ? momentOf(newest.offer.maxTime) : validUntil
  if (until - momentOf(closeTime) < momentOf(leastValidity)) return undefined
  const asked = askedOf(view)
  const canSign = situation.signerRetry === undefined && !terms.isPaused && terms.isAllowed
  if (!canSign || !areEnough(asked, view, situation.now)) return undefined
  const isOwn = place?.account === situation.lane.accounts[0].address
  const form = isGuest ? "guest" : isOwn ? "own" : "channel"
  const commands = decideSignature(situation, { kind: kindOf(transaction.versions.length, newest), form, asked })
  // Its bytes are out: a refusal only prevents another envelope.
  return commands[0]._tag === "Finish" ? undefined : commands
}

const kindOf = (versions: number, { requestVersion }: Attempt<Stellar>) =>
  versions > requestVersion ? ("replace" as const) : ("refresh" as const)

/** When the same bytes are sent again. */
const dueAt = ({ lastSentAt, outcome, refusal, sends }: Attempt<Stellar>): number => {
  if (lastSentAt === undefined) return 0
  if (outcome === "accepted") return lastSentAt + sendAgainAfter.accepted
  return refusal === undefined ? againAfterUnknown(lastSentAt, sends) : lastSentAt + sendAgainAfter.refused
}

/** The clock stands for the close times that follow, if no ledger is seen. */
const isStillTaken = ({ now, view }: Situation<Stellar, Sending>): boolean => {
  const { closeTime, newest } = view
  const isInTime = isSendable(BigInt(newest.offer.maxTime), ledgerClock(closeTime, view, now))
  return isInTime && now < momentOf(newest.offer.maxTime + maxClockDifference)
}

const isAboveCap = ({ terms: { cap, feeLimit }, view }: Situation<Stellar, Sending>): boolean => {
  const { needed = 0n } = view.newest.refusal ?? {}
  return needed > cap || (feeLimit !== undefined && needed > feeLimit)
}

const codeOf = (situation: Situation<Stellar, Sending>) => {
  const { newest } = situation.view
  if (situation.transaction.intent === "cancel") return "canceling"
  if (newest.outcome === "accepted") return "in_queue"
  switch (newest.refusal?.class) {
    case undefined:
      return "sending"
    case "funds":
      return "insufficient_funds"
    case "fee":
      return isAboveCap(situation) ? "fee_above_cap" : "try_again_later"
    case "permanent":
      return "awaiting_expiry"
    default:
      return "try_again_later"
  }
}

/** Another account than its source pays for the call, and the ledgers of the network have no room for such a call. */
const isNeverTaken = ({ lane, transaction, view }: Situation<Stellar, Sending>): boolean => {
  const { facts, place } = transaction
  const isPaid = facts.guest !== undefined || place?.account !== lane.accounts[0].address
  const isCall = view.newest.offer.resourceFee !== undefined
  return isPaid && isCall && !takesPaidCalls(view.settings ?? publicSettings)
}

const figuresOf = (situation: Situation<Stellar, Sending>, code: ReturnType<typeof codeOf>): Figures => {
  const { rest, terms, view } = situation
  const { newest } = view
  const { needed, result, times } = newest.refusal ?? {}
  const until = momentOf(newest.offer.maxTime)
  const refused = present("error", result)
  switch (code) {
    case "try_again_later":
      return { until, times: times ?? 1, ...refused, ...present("fee", needed) }
    case "fee_above_cap":
      return { until, cap: terms.cap, ...refused, ...present("fee", needed) }
    case "insufficient_funds": {
      const payers = view.looks.flatMap(({ payer }) => payer ?? [])
      const need = {
        required: newest.offer.fee + newest.offer.out,
        reserved: rest.reserved,
        minBalance: terms.minBalance
      }
      return { ...refused, ...(payers.length === 0 ? {} : fundsFor(payers, need, view.settings ?? publicSettings)) }
    }
    case "awaiting_expiry":
      return { until, ...refused }
    case "in_queue":
      return { until, sends: newest.sends, ...(isNeverTaken(situation) ? { error: noRoomForPaidCalls } : {}) }
    default:
      return { until, sends: newest.sends }
  }
}

/** Nothing is sent any more: its envelopes are alive until a ledger closes after them. */
const expiring = (situation: Situation<Stellar, Sending>): Commands<Stellar> => {
  const { now, transaction, view } = situation
  const until = momentOf(view.newest.offer.maxTime)
  const close_time = momentOf(view.closeTime)
  if (now - view.newestSince > momentOf(maxClockDifference)) {
    return hold(situation, "ledger_stalled", { close_time, until })
  }
  if (transaction.intent === "cancel") return hold(situation, "canceling", { until })
  return hold(situation, "awaiting_expiry", { until, ...present("error", view.newest.refusal?.result) })
}

const wait = (situation: Situation<Stellar, Sending>): Commands<Stellar> => {
  const { now, view } = situation
  const { newest } = view
  if (!isStillTaken(situation)) return expiring(situation)
  const code = codeOf(situation)
  const held = hold(situation, code, figuresOf(situation, code))
  if (now < dueAt(newest) || newest.refusal?.class === "permanent") return held
  return [...held, Command.Broadcast({ ordinals: [newest.ordinal] })]
}

export const decideAlive = firstOf<Stellar, Sending>([refresh], wait)
