// The state machine of solana transactions: what to do next about one transaction. Pure and total; there is always at least one command.
import { maxWaitForFunds } from "../../core/TransactionValues.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import {
  agreeing,
  answerableAfter,
  looksApart,
  maxAttempts,
  provableAfter,
  rebroadcastAfter,
  rentMinimum,
  unprovableAfter
} from "./SolanaNumbers.ts"
import {
  Command,
  conclude,
  firstOf,
  hold,
  holdRestored,
  holdUntil,
  isFinal,
  isPastBound,
  isSameConclusion,
  openQuestionOf,
  pollNext
} from "./SolanaSituation.ts"
import type {
  AttemptToProve,
  Commands,
  Conclusion,
  Landing,
  Look,
  Preparation,
  ProofQuestion,
  Row,
  SignatureStatus,
  SolanaAttempt,
  SolanaCommand,
  SolanaMined,
  SolanaSeen,
  SolanaSituation
} from "./SolanaSituation.ts"
import { cause } from "./SolanaWords.ts"
import type { SolanaCode } from "./SolanaWords.ts"

// Decisions before each signature, the first one and refreshes alike: nothing is signed that the rules do not allow now.

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

const signPrepared =
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
const decideSignature = (kind: SolanaAttempt["kind"]) => {
  const prepared = firstOf(ofChain, signPrepared(kind))
  return firstOf(ofLedger, (situation) => {
    const { preparation } = situation.view
    return preparation === undefined
      ? [Command.Ask({ question: "prepare" }), pollNext(situation)]
      : prepared({ ...situation, view: { ...situation.view, preparation } })
  })
}

// Decisions about transactions that have bytes. Only a finalized signature, or a proof that all bytes are dead, ends one.

type InFlight = SolanaSituation<SolanaSeen>
type Landed = Extract<Conclusion, { readonly _tag: "Landed" }>

interface Opinion {
  readonly look: Look
  readonly conclusion: Conclusion
}

/** `configured`: there is no other provider. `left`: no other one has had an opinion for as long as the network says. */
const aloneOf = ({ view, terms, now }: InFlight): "configured" | "left" | undefined => {
  if (view.configured < agreeing) return "configured"
  const { finalityByOne } = terms
  if (finalityByOne === "never" || view.aloneSince === undefined) return undefined
  return now >= view.aloneSince + finalityByOne ? "left" : undefined
}

/** Whether a provider that decides alone said the same in a look long enough before this one. */
const isRepeated = ({ look, conclusion }: Opinion, now: number): boolean =>
  look.earlier !== undefined &&
  isSameConclusion(look.earlier.conclusion, conclusion) &&
  now >= look.earlier.at + looksApart

const opinionsOf = ({ transaction, view }: InFlight): ReadonlyArray<Opinion> =>
  view.looks.flatMap((look) => {
    const conclusion = conclude(look, transaction.attempts, view.known)
    return conclusion === undefined ? [] : [{ look, conclusion }]
  })

/** Two providers contradict each other. It is never decided by time; a third one may agree with one of them. */
const isContradicted = (opinions: ReadonlyArray<Opinion>): boolean =>
  opinions.some(({ conclusion }) => opinions.some((other) => !isSameConclusion(other.conclusion, conclusion)))

/**
 * What as many providers conclude as must agree. Undefined if there is no such conclusion, and if there are two: two of four
 * providers may contradict the two others.
 */
const agreedByMany = (opinions: ReadonlyArray<Opinion>): Conclusion | undefined => {
  const agreed = opinions.filter(
    ({ conclusion }) => opinions.filter((other) => isSameConclusion(other.conclusion, conclusion)).length >= agreeing
  )
  return isContradicted(agreed) ? undefined : agreed[0]?.conclusion
}

/** A provider that decides alone has to prove an absence twice. */
const agreedOf = (situation: InFlight, opinions: ReadonlyArray<Opinion>): Conclusion | undefined => {
  const alone = aloneOf(situation)
  if (alone === undefined) return agreedByMany(opinions)
  return opinions.find((opinion) => {
    // Another one has an opinion after all: nobody decides alone.
    if (opinions.some(({ conclusion }) => !isSameConclusion(conclusion, opinion.conclusion))) return false
    const decidesAtOnce = alone === "configured" && opinion.conclusion._tag === "Landed"
    return decidesAtOnce || isRepeated(opinion, situation.now)
  })?.conclusion
}

const minedOf = (
  attempts: ReadonlyArray<SolanaAttempt>,
  hash: string,
  { slot, isSuccess, error }: Omit<SignatureStatus, "level">,
  { paid }: Landing = {}
) => {
  const ordinal = attempts.find((attempt) => attempt.hash === hash)?.ordinal ?? 1
  return {
    ordinal,
    slot,
    isSuccess,
    ...(error === undefined ? {} : { error }),
    ...(paid === undefined ? {} : { paid })
  } satisfies SolanaMined
}

/** Codes of a transaction that a provider shows in a block. */
const onChain: ReadonlySet<string> = new Set(["mined_waiting", "providers_disagree", "second_provider_missing"])

/**
 * Whether it landed after its deadline. When it became final does not matter. What the service has seen in a block before the deadline
 * has landed before it; otherwise the time of the block counts, and the present if no provider names that.
 */
const isLate = ({ transaction, now }: InFlight, { at = now }: Landing = {}): boolean => {
  const { cause: why, causeSince, mined, validUntil } = transaction
  const isSeenBefore = mined !== undefined && why !== undefined && onChain.has(why.code) && causeSince < validUntil
  return !isSeenBefore && at >= validUntil
}

const landed = (situation: InFlight, { _tag, hash, ...result }: Landed): Commands => {
  const { slot, isSuccess } = result
  const { transaction, view } = situation
  const landing = view.landings?.get(hash)
  const mined = minedOf(transaction.attempts, hash, result, landing)
  const by = aloneOf(situation) === "left" ? ({ confirmedBy: 1 } as const) : {}
  const code = !isSuccess ? "failed_on_chain" : isLate(situation, landing) ? "executed_late" : "confirmed"
  const figures = landing?.paid === undefined ? { slot } : { slot, fee: landing.paid }
  return [Command.Finish({ state: isSuccess ? "confirmed" : "failed", cause: cause(code, figures), mined, ...by })]
}

const refresh = decideSignature("refresh")

const unmined = (now: Moment): Commands => [Command.Unmine({ cause: cause("reorged") }), Command.PollAt({ at: now })]

/** No attempt has landed, and none can land any more. A block that one provider has shown is dropped first: nothing landed in it. */
const dead = (situation: InFlight): Commands => {
  const { transaction, now } = situation
  const { attempts, facts, mined } = transaction
  if (mined !== undefined) return unmined(now)
  if (transaction.intent === "cancel") return [Command.Finish({ state: "canceled", cause: cause("canceled") })]
  if (transaction.intent === "clear") {
    return [Command.Finish({ state: "failed", cause: cause("restored_unproven") })]
  }
  if (now >= transaction.validUntil) {
    return [Command.Finish({ state: "expired", cause: cause("deadline_passed", { until: transaction.validUntil }) })]
  }
  if (transaction.restored) return holdRestored(situation)
  if (attempts.at(-1)?.isRefused === true) {
    return [Command.Finish({ state: "failed", cause: cause("refused_by_all") })]
  }
  if (!facts.isRefreshable || attempts.some(({ offer }) => offer.isLast === true)) {
    return [Command.Finish({ state: "expired", cause: cause("blockhash_expired") })]
  }
  return attempts.length >= maxAttempts
    ? [Command.Finish({ state: "expired", cause: cause("attempts_exhausted", { attempts: attempts.length }) })]
    : refresh(situation)
}

const levels = { processed: 0, confirmed: 1, finalized: 2 } as const

/** The status of any attempt that is nearest to final. */
const bestOf = ({
  transaction,
  view
}: InFlight): { readonly hash: string; readonly status: SignatureStatus } | undefined => {
  let best: { readonly hash: string; readonly status: SignatureStatus } | undefined
  for (const { hash } of transaction.attempts) {
    for (const { statuses } of view.looks) {
      const status = statuses?.of.get(hash)
      if (status && (best === undefined || levels[status.level] > levels[best.status.level])) best = { hash, status }
    }
  }
  return best
}

const seenOnChain = (situation: InFlight, code: "mined_waiting" | "providers_disagree" | "second_provider_missing") => {
  const best = bestOf(situation)
  if (best === undefined) return undefined
  const mined = minedOf(situation.transaction.attempts, best.hash, best.status)
  const isWaiting = code === "mined_waiting"
  const mine: SolanaCommand = Command.Mine({
    mined,
    state: mined.isSuccess ? "mined" : "submitted",
    cause: cause(isWaiting && !mined.isSuccess ? "failed_unconfirmed" : code, { slot: mined.slot })
  })
  return [mine, pollNext(situation)] satisfies Commands
}

const isDueAgain = ({ lastSentAt }: SolanaAttempt, now: number): boolean =>
  lastSentAt === undefined || now >= lastSentAt + rebroadcastAfter

/** Some provider answered, and none that did shows a signature. */
const isGone = ({ transaction, view }: InFlight): boolean =>
  transaction.mined !== undefined && view.looks.some(({ statuses }) => statuses !== undefined)

/** The moment from which an operator may answer for a proof that is missing. */
const answerableFrom = (newest: SolanaAttempt, isUnprovable: boolean) =>
  newest.signedAt === undefined ? {} : { until: newest.signedAt + (isUnprovable ? unprovableAfter : answerableAfter) }

/** Providers answer, and none of them has finalized the bound although its time is over. */
const standsStill = ({ view, now }: InFlight, { signedAt }: SolanaAttempt): boolean =>
  signedAt !== undefined &&
  now >= signedAt + provableAfter &&
  view.looks.some(({ finalized }) => finalized !== undefined)

const stillFigures = ({ view: { looks } }: InFlight, newest: SolanaAttempt) => {
  const look = looks.find(({ finalized }) => finalized !== undefined)
  return {
    bound: newest.offer.bound,
    ...(look?.host === undefined
      ? {}
      : {
          host: look.host,
          error: `has finalized nothing above block height ${look.finalized?.height ?? 0} for a long time`
        }),
    ...answerableFrom(newest, false)
  }
}

const alive = (situation: InFlight, newest: SolanaAttempt): Commands => {
  const { transaction, now } = situation
  if (isGone(situation)) return unmined(now)
  const held = standsStill(situation, newest)
    ? hold(situation, "landing_unproven", stillFigures(situation, newest))
    : newest.isRefused
      ? hold(situation, "refused_by_all", { bound: newest.offer.bound })
      : ([pollNext(situation)] as const)
  if (transaction.mined !== undefined || newest.isRefused || !isDueAgain(newest, now)) return held
  return [Command.Broadcast({ ordinals: [newest.ordinal] }), ...held]
}

/** One provider has it finalized, and another one does not, although the bytes should be dead by now: has it a proof? */
const isDenied = ({ transaction, view }: InFlight): boolean => {
  const newest = transaction.attempts.at(-1)
  if (newest === undefined || view.isProofAsked === true || !view.looks.some((look) => isPastBound(look, newest)))
    return false
  const hasLanded = ({ statuses }: Look) =>
    transaction.attempts.some(({ hash }) => statuses?.of.get(hash)?.level === "finalized")
  return view.looks.some(hasLanded) && !view.looks.every(hasLanded)
}

/** What a provider does not do, so that it proves nothing. */
const openWords: Readonly<Record<ProofQuestion, string>> = {
  finalized_height: "has not finalized a higher block",
  statuses: "does not say that its history has none of the signatures",
  list: "does not show a complete list of the relayer's transactions without them",
  blockhash: "does not say that the blockhash is dead",
  history: "does not have the blocks since the signature any more",
  index: "does not show that its history has the blocks in which the signatures could be"
}

/** The blocks that are missing, or how many entries of the list were read if the proof needs more. */
const detailOf = ({ firstAvailable, listed }: Look, question: ProofQuestion, { offer }: AttemptToProve): string => {
  if (question === "history" && firstAvailable !== undefined) {
    return `: it keeps those from slot ${firstAvailable} on, and needs those from slot ${offer.signedSlot} on`
  }
  return question !== "list" || listed === undefined || listed.isWhole === true
    ? ""
    : `; ${listed.signatures.size} of its entries were read so far`
}

/** A provider that has answered, and the first question of the proof that it leaves open. */
const openFigures = ({ transaction: { attempts }, view }: InFlight) => {
  if (view.isProofAsked !== true) return {}
  for (const look of view.looks) {
    for (const attempt of attempts) {
      const question = openQuestionOf(look, [attempt], view.known)
      if (question !== undefined && look.host !== undefined) {
        return { host: look.host, error: `${openWords[question]}${detailOf(look, question, attempt)}` }
      }
    }
  }
  return {}
}

/** Each provider that is configured has answered, and has dropped blocks that a proof needs. They never come back. */
const isUnprovable = ({ transaction: { attempts }, view }: InFlight): boolean =>
  view.isProofAsked === true &&
  view.looks.length >= view.configured &&
  view.looks.every(({ firstAvailable = 0 }) => attempts.some(({ offer }) => firstAvailable > offer.signedSlot))

const decideInFlight = (situation: InFlight): Commands => {
  const { transaction, view, terms } = situation
  const opinions = opinionsOf(situation)
  const agreed = agreedOf(situation, opinions)
  if (agreed !== undefined) return agreed._tag === "Landed" ? landed(situation, agreed) : dead(situation)
  if (isContradicted(opinions)) {
    return seenOnChain(situation, "providers_disagree") ?? hold(situation, "providers_disagree")
  }
  const isAlone = view.configured >= agreeing && view.aloneSince !== undefined && opinions.length > 0
  const seen = seenOnChain(situation, isAlone ? "second_provider_missing" : "mined_waiting")
  if (seen !== undefined) return isDenied(situation) ? [Command.Ask({ question: "proof" }), ...seen] : seen
  const newest = transaction.attempts.at(-1)
  if (newest === undefined) return holdRestored(situation)
  if (!view.looks.some((look) => isPastBound(look, newest))) return alive(situation, newest)
  const { finalityByOne } = terms
  const figures =
    isAlone && finalityByOne !== "never"
      ? { decides_at: (view.aloneSince ?? 0) + finalityByOne }
      : {
          bound: newest.offer.bound,
          ...openFigures(situation),
          ...answerableFrom(newest, isUnprovable(situation))
        }
  return [
    Command.Ask({ question: "proof" }),
    ...hold(situation, isAlone ? "second_provider_missing" : "landing_unproven", figures)
  ]
}

const final: Row = ({ transaction }) => (isFinal(transaction) ? [Command.Rest()] : undefined)

/** Bytes of an older generation belong to a chain that is gone. */
const olderGeneration: Row = ({ transaction, lane }) =>
  transaction.attempts.length > 0 && transaction.generation !== lane.generation
    ? [Command.Finish({ state: "failed", cause: cause("chain_changed") })]
    : undefined

/** Nothing that another chain says is believed, and nothing is sent to it. */
const otherChain: Row = (situation) =>
  situation.transaction.state !== "pending" &&
  (situation.stop?.code === "chain_changed" || situation.terms.disabled === "chain_changed")
    ? hold(situation, "chain_changed", {}, "lane")
    : undefined

/** A transaction on the chain executed it, after the copy that the database was restored from was made. */
const found: Row = ({ transaction, view }) =>
  transaction.restored && view._tag === "Seen" && view.found !== undefined
    ? [Command.Adopt({ attempt: view.found })]
    : undefined

/** Until the list of the address was read, nobody knows which signatures the ledger has forgotten. */
const restoreUnread: Row = (situation) =>
  situation.transaction.restored && !situation.lane.isRestoreRead ? holdRestored(situation) : undefined

/** Its bytes are outside already, so neither a cancel nor a deadline nor a policy ends it. */
const given: Row = (situation) => {
  const { transaction, view } = situation
  const { facts, attempts, state } = transaction
  if (state !== "pending" || attempts.length > 0) return undefined
  if (facts.given !== undefined) return [Command.Adopt({ attempt: facts.given })]
  if (facts.isForgotten !== true) return undefined
  if (view._tag === "Unreachable") return holdUntil(situation, view.code, view.retryAt, "transaction")
  if (view.forgotten === undefined) return [Command.Ask({ question: "life" }), pollNext(situation)]
  return view.forgotten === "unavailable"
    ? hold(situation, "blockhash_unavailable")
    : [Command.Adopt({ attempt: view.forgotten })]
}

/**
 * A pending transaction of a restored database waits for the operator: before the restore, the service may have told its caller that it
 * was canceled, replaced or failed.
 */
const restored: Row = (situation) =>
  situation.transaction.state === "pending" && situation.transaction.restored ? holdRestored(situation) : undefined

const canceled: Row = ({ transaction }) =>
  transaction.state === "pending" && transaction.intent === "cancel"
    ? [Command.Finish({ state: "canceled", cause: cause("canceled") })]
    : undefined

const deadline: Row = ({ transaction, now }) =>
  transaction.state === "pending" && now >= transaction.validUntil
    ? [Command.Finish({ state: "expired", cause: cause("deadline_passed", { until: transaction.validUntil }) })]
    : undefined

const signFirst = decideSignature("original")

const withChain = (situation: SolanaSituation): Commands => {
  const { view, transaction } = situation
  if (view._tag === "Unreachable") {
    return situation.stop === undefined
      ? // Each transaction says so by itself: those behind the first one would seem to be signed next.
        hold(situation, view.code, view.figures)
      : hold(situation, situation.stop.code, situation.stop.figures, "lane")
  }
  return transaction.state === "pending" ? signFirst({ ...situation, view }) : decideInFlight({ ...situation, view })
}

export const decideSolana: (situation: SolanaSituation) => Commands = firstOf(
  [final, olderGeneration, otherChain, found, restoreUnread, given, restored, canceled, deadline],
  withChain
)
