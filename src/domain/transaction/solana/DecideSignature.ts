// Decisions before each signature, the first one and refreshes alike: nothing is signed that the rules do not allow now.
import { maxWaitForFunds } from "../TransactionValues.ts"
import { cause } from "./SolanaCode.ts"
import type { SolanaCode } from "./SolanaCode.ts"
import type { Preparation } from "./Preparation.ts"
import { rentMinimum } from "./SolanaNumbers.ts"
import { Command, firstOf, hold, holdUntil, pollNext } from "./SolanaSituation.ts"
import type { Commands, Row, SolanaAttempt, SolanaCommand, SolanaSeen, SolanaSituation } from "./SolanaSituation.ts"

interface Prepared extends SolanaSeen {
  readonly preparation: Preparation
}

const fail = (code: SolanaCode, figures: Readonly<Record<string, bigint | number | string>> = {}): Commands => [
  Command.Finish({ state: "failed", cause: cause(code, figures) })
]

const policy: Row<SolanaSeen> = ({ terms }) => (terms.isAllowed ? undefined : fail("policy_changed"))

const stopped: Row<SolanaSeen> = (situation) =>
  situation.stop === undefined ? undefined : hold(situation, situation.stop.code, situation.stop.figures, "lane")

const paused: Row<SolanaSeen> = (situation) => {
  const { isPaused, disabled } = situation.terms
  if (isPaused) return hold(situation, "relayer_paused", {}, "relayer")
  // Providers answer this poll, so nothing waits for the next health check, which looks at them less often.
  return disabled === undefined || disabled === "providers_unavailable"
    ? undefined
    : hold(situation, disabled, {}, "relayer")
}

const notBefore: Row<SolanaSeen> = (situation) => {
  const { transaction, now } = situation
  const { notBefore } = transaction
  return notBefore === undefined || now >= notBefore
    ? undefined
    : holdUntil(situation, "not_before", notBefore, "transaction")
}

const keyFails: Row<SolanaSeen> = (situation) => {
  const { isSponsored, keyHold } = situation.terms
  if (!isSponsored || keyHold === undefined || situation.now >= keyHold.until) return undefined
  const { failed, of, until } = keyHold
  return holdUntil(situation, "rate_limited", until, "transaction", {
    error: `${failed} of the newest ${of} transactions of the API key failed on the chain`
  })
}

/** A transaction that has bytes is in the window already. */
const windowFull: Row<SolanaSeen> = (situation) => {
  const { lane, rest, transaction } = situation
  if (transaction.state !== "pending" || rest.inFlight < lane.windowSize) return undefined
  return hold(situation, "lane_window_full", { window: lane.windowSize, in_flight: rest.inFlight }, "lane")
}

const signer: Row<SolanaSeen> = (situation) =>
  situation.signerRetry === undefined
    ? undefined
    : holdUntil(situation, situation.signerRetry.code, situation.signerRetry.at, "lane")

/** Nothing was signed for a request whose own blockhash is dead when it arrives, and nothing will be. */
const deadOnArrival: Row<Prepared> = ({ transaction, view }) =>
  transaction.facts.isPrebuilt && transaction.attempts.length === 0 && view.preparation.lifetime === "dead"
    ? [Command.Finish({ state: "expired", cause: cause("blockhash_expired") })]
    : undefined

const problemOf = ({ problem }: Preparation) => (problem === undefined ? {} : { error: problem })

const accounts: Row<Prepared> = (situation) => {
  switch (situation.view.preparation.accounts) {
    case "missing_table":
      return fail("lookup_table_unresolved")
    case "table_unavailable":
      return hold(situation, "lookup_table_unavailable")
    case "young_table":
      return hold(situation, "lookup_table_unavailable", { slot: situation.view.preparation.extendedIn ?? 0 })
    case "account_unavailable":
      return hold(situation, "account_unavailable")
    case "price_unavailable":
      return hold(situation, "price_unavailable", problemOf(situation.view.preparation))
    case "read":
      return undefined
  }
}

const rules: Row<Prepared> = ({ view: { preparation } }) =>
  preparation.broken === undefined ? undefined : fail(preparation.broken, problemOf(preparation))

/** A price above the cap is lowered to it, unless the network takes nothing that low. */
const feeAboveCap: Row<Prepared> = (situation) => {
  const { floor, cap, isOwn } = situation.view.preparation.fee
  if (floor <= cap) return undefined
  return hold(situation, "priority_fee_above_cap", { fee: floor, cap }, isOwn === true ? "transaction" : "relayer")
}

const lifetime: Row<Prepared> = (situation) =>
  typeof situation.view.preparation.lifetime === "string" ? hold(situation, "blockhash_unavailable") : undefined

const offeredFee = ({ fee }: Preparation): bigint => (fee.offered < fee.cap ? fee.offered : fee.cap)

/** The wait for funds begins when nothing of the lane is in flight: until then the missing part may only be reserved. */
const fundsDeadline = ({ transaction, rest, now }: SolanaSituation<Prepared>): number | undefined => {
  if (transaction.waitsForFunds || rest.quietSince === undefined) return undefined
  const since = transaction.cause?.code === "insufficient_funds" ? transaction.causeSince : now
  return Math.max(since, rest.quietSince) + maxWaitForFunds
}

const funds: Row<Prepared> = (situation) => {
  const { view, rest, terms, now } = situation
  const { balance, out, rent = rentMinimum } = view.preparation
  if (balance === undefined) return hold(situation, "providers_unavailable", {}, "lane")
  const required = offeredFee(view.preparation) + out
  const minimum = terms.minBalance > rent ? terms.minBalance : rent
  const available = balance - rest.reserved
  if (available - required >= minimum) return undefined
  const figures = { required, available, reserved: rest.reserved, minimum }
  const until = fundsDeadline(situation)
  if (until !== undefined && now >= until) return fail("insufficient_funds", figures)
  return hold(situation, "insufficient_funds", until === undefined ? figures : { ...figures, until }, "relayer")
}

const simulated: Row<Prepared> = (situation) => {
  const { simulated } = situation.view.preparation
  switch (simulated?._tag) {
    case undefined:
    case "Succeeds":
      return undefined
    case "Fails":
      return fail("would_fail", { error: simulated.error })
    case "Broken":
      return fail(simulated.code)
    case "Disagrees":
      return hold(situation, "providers_disagree")
    case "FailsAlone":
      return hold(situation, "second_provider_missing")
    case "BrokenOnce":
      return hold(situation, "sending")
    case "TableUnknown":
      return hold(situation, "lookup_table_unavailable")
    case "Unknown":
      return hold(situation, "providers_unavailable")
  }
}

const sign =
  (kind: SolanaAttempt["kind"]) =>
  (situation: SolanaSituation<Prepared>): Commands => {
    const { preparation } = situation.view
    if (typeof preparation.lifetime === "string") return hold(situation, "blockhash_unavailable")
    const maxFee = offeredFee(preparation)
    const signature: SolanaCommand = Command.Sign({
      kind,
      offer: { ...preparation.lifetime, ...preparation.price },
      maxFee,
      cause: cause("sending", { fee: maxFee })
    })
    return [signature, pollNext(situation)]
  }

const ofLedger: ReadonlyArray<Row<SolanaSeen>> = [policy, stopped, paused, notBefore, keyFails, windowFull, signer]

const ofChain: ReadonlyArray<Row<Prepared>> = [deadOnArrival, accounts, rules, feeAboveCap, lifetime, funds, simulated]

/** What the ledger knows comes first, so that the chain is not asked for a transaction that cannot be signed now. */
export const decideSignature = (kind: SolanaAttempt["kind"]) => {
  const prepared = firstOf(ofChain, sign(kind))
  return firstOf(ofLedger, (situation) => {
    const { preparation } = situation.view
    return preparation === undefined
      ? [Command.Ask({ question: "prepare" }), pollNext(situation)]
      : prepared({ ...situation, view: { ...situation.view, preparation } })
  })
}
