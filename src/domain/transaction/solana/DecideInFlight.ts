// Decisions about transactions that have bytes. Only a finalized signature, or a proof that all bytes are dead, ends one.
import type { Moment } from "../TransactionValues.ts"
import { decideSignature } from "./DecideSignature.ts"
import { conclude, isPastBound, isSame, openQuestionOf } from "./Look.ts"
import type { AttemptToProve, Conclusion, Landing, Look, Question, Status } from "./Look.ts"
import { cause } from "./SolanaCode.ts"
import {
  agreeing,
  answerableAfter,
  looksApart,
  maxAttempts,
  provableAfter,
  rebroadcastAfter,
  unprovableAfter
} from "./SolanaNumbers.ts"
import { Command, hold, holdRestored, pollNext } from "./SolanaSituation.ts"
import type {
  Commands,
  SolanaAttempt,
  SolanaCommand,
  SolanaMined,
  SolanaSeen,
  SolanaSituation
} from "./SolanaSituation.ts"

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
  look.earlier !== undefined && isSame(look.earlier.conclusion, conclusion) && now >= look.earlier.at + looksApart

const opinionsOf = ({ transaction, view }: InFlight): ReadonlyArray<Opinion> =>
  view.looks.flatMap((look) => {
    const conclusion = conclude(look, transaction.attempts, view.known)
    return conclusion === undefined ? [] : [{ look, conclusion }]
  })

/** Two providers contradict each other. It is never decided by time; a third one may agree with one of them. */
const isContradicted = (opinions: ReadonlyArray<Opinion>): boolean =>
  opinions.some(({ conclusion }) => opinions.some((other) => !isSame(other.conclusion, conclusion)))

/**
 * What as many providers conclude as must agree. Undefined if there is no such conclusion, and if there are two: two of four
 * providers may contradict the two others.
 */
const agreedByMany = (opinions: ReadonlyArray<Opinion>): Conclusion | undefined => {
  const agreed = opinions.filter(
    ({ conclusion }) => opinions.filter((other) => isSame(other.conclusion, conclusion)).length >= agreeing
  )
  return isContradicted(agreed) ? undefined : agreed[0]?.conclusion
}

/** A provider that decides alone has to prove an absence twice. */
const agreedOf = (situation: InFlight, opinions: ReadonlyArray<Opinion>): Conclusion | undefined => {
  const alone = aloneOf(situation)
  if (alone === undefined) return agreedByMany(opinions)
  return opinions.find((opinion) => {
    // Another one has an opinion after all: nobody decides alone.
    if (opinions.some(({ conclusion }) => !isSame(conclusion, opinion.conclusion))) return false
    const decidesAtOnce = alone === "configured" && opinion.conclusion._tag === "Landed"
    return decidesAtOnce || isRepeated(opinion, situation.now)
  })?.conclusion
}

const minedOf = (
  attempts: ReadonlyArray<SolanaAttempt>,
  hash: string,
  { slot, isSuccess, error }: Omit<Status, "level">,
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
const bestOf = ({ transaction, view }: InFlight): { readonly hash: string; readonly status: Status } | undefined => {
  let best: { readonly hash: string; readonly status: Status } | undefined
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
const openWords: Readonly<Record<Question, string>> = {
  finalized_height: "has not finalized a higher block",
  statuses: "does not say that its history has none of the signatures",
  list: "does not show a complete list of the relayer's transactions without them",
  blockhash: "does not say that the blockhash is dead",
  history: "does not have the blocks since the signature any more",
  index: "does not show that its history has the blocks in which the signatures could be"
}

/** The blocks that are missing, or how many entries of the list were read if the proof needs more. */
const detailOf = ({ firstAvailable, listed }: Look, question: Question, { offer }: AttemptToProve): string => {
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

export const decideInFlight = (situation: InFlight): Commands => {
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
