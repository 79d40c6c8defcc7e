// The state machine of solana transactions: what to do next about one transaction. Pure and total; there is always at least one command.
import { cause } from "../../core/Cause.ts"
import type { Figures } from "../../core/Cause.ts"
import * as Rows from "../../core/Rows.ts"
import { agreeing, holdUntil, isOnOtherChain, verdictOf, waitsForFunds } from "../../core/Rows.ts"
import type { Verdict } from "../../core/Rows.ts"
import { ask, Command, finish, firstOf, mine, sign } from "../../core/Rules.ts"
import type { Commands, Row, Scope, Situation } from "../../core/Rules.ts"
import { isFinal, newestRequest } from "../../core/Transaction.ts"
import type { Attempt, Mined } from "../../core/Transaction.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import type { Solana } from "./Solana.ts"
import {
  answerableAfter,
  finalizedAfter,
  looksApart,
  maxAttempts,
  pollAfter,
  provableAfter,
  rebroadcastAfter,
  rentMinimum,
  unprovableAfter
} from "./SolanaNumbers.ts"
import { conclude, isPastBound, isSameConclusion, openQuestionOf, withFeeLimit, withOwnCap } from "./SolanaSeen.ts"
import type {
  AttemptToProve,
  Conclusion,
  Landing,
  Look,
  Preparation,
  ProofQuestion,
  SignatureStatus,
  SolanaSeen,
  TakenAttempt
} from "./SolanaSeen.ts"
import type { SolanaCode } from "./SolanaWords.ts"

// How a transaction waits.

const rows = Rows.make<Solana>(({ now }) => now + pollAfter)

/** The state stays, with a code, until the next poll. */
const hold = (
  situation: Situation<Solana>,
  code: SolanaCode,
  figures: Figures = {},
  scope: Scope = "transaction"
): Commands<Solana> => rows.hold(situation, code, figures, scope)

/** It waits for an operator's answer: the ledger may have forgotten what became of it. */
const holdRestored = (situation: Situation<Solana>): Commands<Solana> => {
  const [{ counters }] = situation.lane.accounts
  return hold(situation, "restored_unproven", counters?.restore)
}

/** The row says nothing about transactions that have bytes. */
const ifPending =
  (row: Row<Solana>): Row<Solana> =>
  (situation) =>
    situation.transaction.state === "pending" ? row(situation) : undefined

// Decisions before each signature, the first one and refreshes alike: nothing is signed that the rules do not allow now.

interface Prepared extends SolanaSeen {
  readonly preparation: Preparation
}

const fail = (code: SolanaCode, figures: Figures = {}): Commands<Solana> => [
  finish({ state: "failed", cause: cause(code, figures) })
]

const { pollNext, policy, stopped, notBefore, signer } = rows

/** Providers answer this poll, so nothing waits for the next health check, which looks at them less often. */
const paused: Row<Solana> = (situation) => {
  const { isPaused, disabled } = situation.terms
  return !isPaused && disabled === "providers_unavailable" ? undefined : rows.paused(situation)
}

const keyFails: Row<Solana> = (situation) => {
  const { isSponsored, keyHold } = situation.terms
  if (!isSponsored || keyHold === undefined || situation.now >= keyHold.until) return undefined
  const { failed, of, until } = keyHold
  const error = `${failed} of the newest ${of} transactions of the API key failed on the chain`
  return holdUntil(situation, cause("rate_limited", { error, until }), "transaction", until)
}

/** A transaction that has bytes is in the window already. */
const windowFull = ifPending(rows.windowFull)

/** Nothing was signed for a request whose own blockhash is dead when it arrives, and nothing will be. */
const deadOnArrival: Row<Solana, Prepared> = ({ transaction, view }) =>
  transaction.facts.isPrebuilt && transaction.attempts.length === 0 && view.preparation.lifetime === "dead"
    ? [finish({ state: "expired", cause: cause("blockhash_expired") })]
    : undefined

const problemOf = ({ problem }: Preparation) => (problem === undefined ? {} : { error: problem })

const accounts: Row<Solana, Prepared> = (situation) => {
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

const rules: Row<Solana, Prepared> = ({ view: { preparation } }) =>
  preparation.broken === undefined ? undefined : fail(preparation.broken, problemOf(preparation))

/** A price above the cap is lowered to it, unless the network takes nothing that low. */
const feeAboveCap: Row<Solana, Prepared> = (situation) => {
  const { floor, cap, isOwn } = situation.view.preparation.fee
  if (floor <= cap) return undefined
  return hold(situation, "priority_fee_above_cap", { fee: floor, cap }, isOwn === true ? "transaction" : "relayer")
}

const lifetime: Row<Solana, Prepared> = (situation) =>
  typeof situation.view.preparation.lifetime === "string" ? hold(situation, "blockhash_unavailable") : undefined

const offeredFee = ({ fee }: Preparation): bigint => (fee.offered < fee.cap ? fee.offered : fee.cap)

const funds: Row<Solana, Prepared> = (situation) => {
  const { view, rest, terms } = situation
  const { balance, out, rent = rentMinimum } = view.preparation
  if (balance === undefined) return hold(situation, "providers_unavailable", {}, "providers")
  const required = offeredFee(view.preparation) + out
  const minimum = terms.minBalance > rent ? terms.minBalance : rent
  const available = balance - rest.reserved
  if (available - required >= minimum) return undefined
  const figures = { required, available, reserved: rest.reserved, minimum }
  const waits = waitsForFunds(newestRequest(situation.transaction))
  return rows.withoutFunds(situation, figures, { scope: "relayer", waits })
}

const simulated: Row<Solana, Prepared> = (situation) => {
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

type SignatureKind = "original" | "refresh"

const signPrepared =
  (kind: SignatureKind) =>
  (situation: Situation<Solana, Prepared>): Commands<Solana> => {
    const { preparation } = situation.view
    const { lifetime, out, price } = preparation
    if (typeof lifetime === "string") return hold(situation, "blockhash_unavailable")
    const fee = offeredFee(preparation)
    const offer = { ...lifetime, ...price, fee, out }
    return [sign<Solana>({ kind, offer, maxFee: fee, cause: cause("sending", { fee }) }), pollNext(situation)]
  }

/** What the request and the limits of the API key leave for the fee. */
const limited = (preparation: Preparation, { transaction, terms }: Situation<Solana>): Preparation =>
  withFeeLimit(
    withOwnCap(preparation, newestRequest(transaction).max_fee_lamports),
    terms.feeLimit,
    transaction.facts.isPrebuilt
  )

const ofLedger: ReadonlyArray<Row<Solana>> = [policy, stopped, paused, notBefore, keyFails, windowFull, signer]

const ofChain = [deadOnArrival, accounts, rules, feeAboveCap, lifetime, funds, simulated]

/** What the ledger knows comes first, so that the chain is not asked for a transaction that cannot be signed now. */
const decideSignature = (kind: SignatureKind) => {
  const prepared = firstOf<Solana, Prepared>(ofChain, signPrepared(kind))
  return firstOf<Solana, SolanaSeen>(ofLedger, (situation) => {
    const { preparation } = situation.view
    return preparation === undefined
      ? [ask<Solana>("prepare"), pollNext(situation)]
      : prepared({ ...situation, view: { ...situation.view, preparation: limited(preparation, situation) } })
  })
}

// Decisions about transactions that have bytes. Only a finalized signature, or a proof that all bytes are dead, ends one.

type InFlight = Situation<Solana, SolanaSeen>
type Landed = Extract<Conclusion, { readonly _tag: "Landed" }>

interface Opinion {
  readonly look: Look
  readonly conclusion: Conclusion
}

/** What follows from the silence of all other providers. Undefined: there is no other one, or one of them is not silent. */
const silenceOf = ({ view, terms, transaction, now }: InFlight): Verdict | undefined => {
  const { aloneSince: since } = view
  if (view.configured < agreeing || since === undefined) return undefined
  const silent = { _tag: "Silent", host: "another provider", since, error: "it does not answer" } as const
  const { blockTime, finalityByOne } = terms
  return verdictOf([silent], transaction, { blockTime, required: finalizedAfter, finalityByOne }, now)
}

/** `configured`: there is no other provider. `left`: no other one has had an opinion for as long as must pass on any network. */
const aloneOf = (situation: InFlight): "configured" | "left" | undefined => {
  if (situation.view.configured < agreeing) return "configured"
  return silenceOf(situation)?._tag === "Alone" ? "left" : undefined
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

/** Until a provider names the fee, what the bytes can cost at most stands for it. */
const minedOf = (
  attempts: ReadonlyArray<Attempt<Solana>>,
  hash: string,
  { slot, isSuccess, error }: Omit<SignatureStatus, "level">,
  { paid }: Landing = {}
): Mined<Solana> => {
  const attempt = attempts.find((one) => one.hash === hash)
  return {
    ordinal: attempt?.ordinal ?? 1,
    receipt: {
      height: slot,
      isSuccess,
      paid: paid ?? attempt?.maxFee ?? 0n,
      details: error === undefined ? {} : { error }
    }
  }
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

const landed = (situation: InFlight, { _tag, hash, ...result }: Landed): Commands<Solana> => {
  const { slot, isSuccess } = result
  const { transaction, view } = situation
  const landing = view.landings?.get(hash)
  const mined = minedOf(transaction.attempts, hash, result, landing)
  const by = aloneOf(situation) === "left" ? ({ confirmedBy: 1 } as const) : {}
  const code = !isSuccess ? "failed_on_chain" : isLate(situation, landing) ? "executed_late" : "confirmed"
  const figures = landing?.paid === undefined ? { slot } : { slot, fee: landing.paid }
  return [finish<Solana>({ state: isSuccess ? "confirmed" : "failed", cause: cause(code, figures), mined, ...by })]
}

const refresh = decideSignature("refresh")

const unmined = (now: Moment): Commands<Solana> => [
  Command.Unmine({ cause: cause("reorged") }),
  Command.PollAt({ at: now })
]

/** No attempt has landed, and none can land any more. A block that one provider has shown is dropped first: nothing landed in it. */
const dead = (situation: InFlight): Commands<Solana> => {
  const { transaction, now } = situation
  const { attempts, facts, mined } = transaction
  if (mined !== undefined) return unmined(now)
  if (transaction.intent === "cancel") return [finish({ state: "canceled", cause: cause("canceled") })]
  if (transaction.intent === "clear") {
    return [finish({ state: "failed", cause: cause("restored_unproven") })]
  }
  if (now >= transaction.validUntil) {
    return [finish({ state: "expired", cause: cause("deadline_passed", { until: transaction.validUntil }) })]
  }
  if (transaction.restored) return holdRestored(situation)
  if (attempts.at(-1)?.outcome === "refused") {
    return [finish({ state: "failed", cause: cause("refused_by_all") })]
  }
  if (!facts.isRefreshable || attempts.some(({ offer }) => offer.isLast === true)) {
    return [finish({ state: "expired", cause: cause("blockhash_expired") })]
  }
  return attempts.length >= maxAttempts
    ? [finish({ state: "expired", cause: cause("attempts_exhausted", { attempts: attempts.length }) })]
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

const seenOnChain = (
  situation: InFlight,
  code: "mined_waiting" | "providers_disagree" | "second_provider_missing",
  figures: Figures = {}
): Commands<Solana> | undefined => {
  const best = bestOf(situation)
  if (best === undefined) return undefined
  const { isSuccess, slot } = best.status
  const isWaiting = code === "mined_waiting"
  return [
    mine<Solana>({
      mined: minedOf(situation.transaction.attempts, best.hash, best.status),
      state: isSuccess ? "mined" : "submitted",
      cause: cause(isWaiting && !isSuccess ? "failed_unconfirmed" : code, { ...figures, slot })
    }),
    pollNext(situation)
  ]
}

const isDueAgain = ({ lastSentAt }: Attempt<Solana>, now: Moment): boolean =>
  lastSentAt === undefined || now >= lastSentAt + rebroadcastAfter

/** Some provider answered, and none that did shows a signature. */
const isGone = ({ transaction, view }: InFlight): boolean =>
  transaction.mined !== undefined && view.looks.some(({ statuses }) => statuses !== undefined)

/** The moment from which an operator may answer for a proof that is missing. */
const answerableFrom = ({ signedAt }: Attempt<Solana>, isUnprovable: boolean) => ({
  until: signedAt + (isUnprovable ? unprovableAfter : answerableAfter)
})

/** Providers answer, and none of them has finalized the bound although its time is over. */
const standsStill = ({ view, now }: InFlight, { signedAt }: Attempt<Solana>): boolean =>
  now >= signedAt + provableAfter && view.looks.some(({ finalized }) => finalized !== undefined)

const stillFigures = ({ view: { looks } }: InFlight, newest: Attempt<Solana>) => {
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

const alive = (situation: InFlight, newest: Attempt<Solana>): Commands<Solana> => {
  const { transaction, now } = situation
  if (isGone(situation)) return unmined(now)
  const isRefused = newest.outcome === "refused"
  const held: Commands<Solana> = standsStill(situation, newest)
    ? hold(situation, "landing_unproven", stillFigures(situation, newest))
    : isRefused
      ? hold(situation, "refused_by_all", { bound: newest.offer.bound })
      : [pollNext(situation)]
  if (transaction.mined !== undefined || isRefused || !isDueAgain(newest, now)) return held
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

const decideInFlight = (situation: InFlight): Commands<Solana> => {
  const { transaction, view } = situation
  const opinions = opinionsOf(situation)
  const agreed = agreedOf(situation, opinions)
  if (agreed !== undefined) return agreed._tag === "Landed" ? landed(situation, agreed) : dead(situation)
  if (isContradicted(opinions)) {
    return seenOnChain(situation, "providers_disagree") ?? hold(situation, "providers_disagree")
  }
  const silence = opinions.length === 0 ? undefined : silenceOf(situation)
  const missing = silence?._tag === "Missing" || silence?._tag === "Alone" ? silence.figures : undefined
  const seen =
    missing === undefined
      ? seenOnChain(situation, "mined_waiting")
      : seenOnChain(situation, "second_provider_missing", missing)
  if (seen !== undefined) return isDenied(situation) ? [ask<Solana>("proof"), ...seen] : seen
  const newest = transaction.attempts.at(-1)
  if (newest === undefined) return holdRestored(situation)
  if (!view.looks.some((look) => isPastBound(look, newest))) return alive(situation, newest)
  const held =
    missing === undefined
      ? hold(situation, "landing_unproven", {
          bound: newest.offer.bound,
          ...openFigures(situation),
          ...answerableFrom(newest, isUnprovable(situation))
        })
      : hold(situation, "second_provider_missing", missing)
  return view.isProofAsked === true ? held : [ask<Solana>("proof"), ...held]
}

const final: Row<Solana> = ({ transaction }) => (isFinal(transaction) ? [Command.Rest()] : undefined)

/** Bytes of an older generation belong to a chain that is gone. */
const olderGeneration: Row<Solana> = ({ transaction, lane }) =>
  transaction.attempts.length > 0 && transaction.generation !== lane.generation
    ? [finish({ state: "failed", cause: cause("chain_changed") })]
    : undefined

const otherChain: Row<Solana> = (situation) =>
  situation.transaction.state !== "pending" && isOnOtherChain(situation)
    ? hold(situation, "chain_changed", {}, "lane")
    : undefined

/** The bytes exist already: the place and the attempt are committed as if they were signed now. */
const takeOver = ({ hash, maxFee, offer }: TakenAttempt): Commands<Solana> => [
  sign<Solana>({
    kind: "original",
    offer: { ...offer, fee: maxFee, out: 0n, taken: hash },
    maxFee,
    cause: cause("sending", { fee: maxFee })
  })
]

/** A transaction on the chain executed it, after the copy that the database was restored from was made. */
const found: Row<Solana> = ({ transaction, view }) =>
  transaction.restored && view._tag === "Seen" && view.found !== undefined ? takeOver(view.found) : undefined

/** Until the list of the address was read, nobody knows which signatures the ledger has forgotten. */
const restoreUnread: Row<Solana> = (situation) => {
  const [{ counters }] = situation.lane.accounts
  return situation.transaction.restored && counters?.restore?.slot === undefined ? holdRestored(situation) : undefined
}

/**
 * Its bytes are outside already, so neither a cancel nor a deadline nor a policy ends it. Until when they can land is asked if the
 * ledger has forgotten it.
 */
const given = ifPending((situation) => {
  const { transaction, view } = situation
  const { attempts, facts } = transaction
  if (facts.given === undefined || attempts.length > 0) return undefined
  const { hash, offer } = facts.given
  if (offer !== undefined) return takeOver({ hash, offer, maxFee: offer.fee })
  if (view._tag === "Unreachable") {
    return holdUntil(situation, cause(view.code, { until: view.retryAt }), "transaction", view.retryAt)
  }
  if (view.forgotten === undefined) return [ask<Solana>("life"), pollNext(situation)]
  return view.forgotten === "unavailable" ? hold(situation, "blockhash_unavailable") : takeOver(view.forgotten)
})

/**
 * The database was restored from a backup. After the backup, the service may have answered that this transaction was canceled, replaced or failed.
 * So the transaction waits for the operator.
 */
const restored = ifPending((situation) => (situation.transaction.restored ? holdRestored(situation) : undefined))

const canceled = ifPending((situation) =>
  situation.transaction.intent === "cancel" ? rows.notWanted(situation) : undefined
)

const deadline = ifPending(rows.deadline)

const signFirst = decideSignature("original")

const withChain = (situation: Situation<Solana>): Commands<Solana> => {
  const { view, transaction, stop } = situation
  if (view._tag === "Unreachable") {
    // Each transaction says so by itself: those behind the first one would seem to be signed next.
    return stop === undefined ? hold(situation, view.code, view.figures) : rows.holdFor(situation, stop, "lane")
  }
  return transaction.state === "pending" ? signFirst({ ...situation, view }) : decideInFlight({ ...situation, view })
}

export const decide: (situation: Situation<Solana>) => Commands<Solana> = firstOf<Solana, Situation<Solana>["view"]>(
  [final, olderGeneration, otherChain, found, restoreUnread, given, restored, canceled, deadline],
  withChain
)
