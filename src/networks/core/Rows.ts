// Decisions that are the same for all networks: about pending transactions without the chain, and about what a single provider says.
import { stalledAfter } from "../../domain/chain/Rpc.ts"
import { cause } from "./Cause.ts"
import type { Cause, Figures, KnownCode } from "./Cause.ts"
import type { Family } from "./Family.ts"
import { Command, finish } from "./Rules.ts"
import type { Commands, Row, Scope, Situation } from "./Rules.ts"
import type { Transaction } from "./Transaction.ts"
import { earliest, maxWaitForFunds } from "./TransactionValues.ts"
import type { Moment } from "./TransactionValues.ts"
import { endOf } from "./Transition.ts"

/** The state stays, with a code, until a moment and no longer than until the deadline. */
export const holdUntil = <F extends Family, V>(
  { transaction, now }: Pick<Situation<F, V>, "transaction" | "now">,
  why: Cause,
  scope: Scope,
  until: Moment
): Commands<F> => [
  Command.Hold({ cause: why, scope }),
  Command.PollAt({ at: transaction.validUntil > now ? earliest(until, transaction.validUntil) : until })
]

/**
 * When a transaction without funds fails. The wait begins when nothing of the lane is in flight: until then the missing part may
 * only be reserved. Undefined: it waits.
 */
const fundsDeadline = <F extends Family, V>(
  { transaction, rest, now }: Pick<Situation<F, V>, "transaction" | "rest" | "now">,
  waits: boolean | "not_at_all"
): Moment | undefined => {
  const { quietSince } = rest
  if (waits === "not_at_all") return now
  if (waits === true || quietSince === undefined) return undefined
  const since = transaction.cause?.code === "insufficient_funds" ? transaction.causeSince : now
  return Math.max(since, quietSince) + maxWaitForFunds
}

/** Whether a request waits for funds until its deadline. A payment of a top-up does not wait: it would hold the sends of its payer. */
export const waitsForFunds = ({
  fails_without_funds,
  wait_for_funds
}: {
  readonly wait_for_funds?: boolean
  readonly fails_without_funds?: true
}): boolean | "not_at_all" => (fails_without_funds === true ? "not_at_all" : wait_for_funds === true)

/** Nothing that another chain says is believed, and nothing is sent to it. */
export const isOnOtherChain = <F extends Family, V>({
  stop,
  terms
}: Pick<Situation<F, V>, "stop" | "terms">): boolean =>
  stop?.code === "chain_changed" || terms.disabled === "chain_changed"

/** What is known of the transaction that may have executed it stays shown. */
const restoredCause = ({ cause: why }: Transaction): Cause =>
  why?.code === "restored_unproven" ? why : cause("restored_unproven")

/** `pollAt`: when the network may have something new. */
export const make = <F extends Family>(pollAt: (situation: Situation<F>) => Moment) => {
  /** A pending transaction is decided about again at its own moments, too. */
  const pollNext = (situation: Situation<F>): Command<F> => {
    const { now, transaction } = situation
    const { notBefore, state, validUntil } = transaction
    const own = state === "pending" ? [validUntil, notBefore].filter((at) => at !== undefined && at > now) : []
    return Command.PollAt({ at: earliest(pollAt(situation), ...own) })
  }

  /** The state stays, with a cause, until the next poll. */
  const holdFor = (situation: Situation<F>, why: Cause, scope: Scope = "transaction"): Commands<F> => [
    Command.Hold({ cause: why, scope }),
    pollNext(situation)
  ]

  const hold = (situation: Situation<F>, code: KnownCode, figures: Figures = {}, scope?: Scope): Commands<F> =>
    holdFor(situation, cause(code, figures), scope)

  /** Funds are missing: it waits for them, or it has waited for long enough. `waits`: whether it may until its deadline. */
  const withoutFunds = (
    situation: Situation<F>,
    figures: Figures,
    { scope, waits }: { readonly scope: Scope; readonly waits: boolean | "not_at_all" }
  ): Commands<F> => {
    const until = fundsDeadline(situation, waits)
    const why = cause("insufficient_funds", until === undefined ? figures : { ...figures, until })
    const isOver = until !== undefined && situation.now >= until
    return isOver ? [finish({ state: "failed", cause: why })] : holdFor(situation, why, scope)
  }

  /** Neither a cancel nor a deadline ends it: it may have been executed by bytes that the ledger has forgotten. */
  const restored: Row<F> = (situation) =>
    situation.transaction.restored ? holdFor(situation, restoredCause(situation.transaction)) : undefined

  const notWanted: Row<F> = ({ transaction }) => (transaction.intent === "execute" ? undefined : [endOf(transaction)])

  const deadline: Row<F> = ({ transaction, now }) =>
    now >= transaction.validUntil
      ? [finish({ state: "expired", cause: cause("deadline_passed", { until: transaction.validUntil }) })]
      : undefined

  const policy: Row<F> = ({ terms }) =>
    terms.isAllowed ? undefined : [finish({ state: "failed", cause: cause("policy_changed") })]

  const stopped: Row<F> = (situation) => {
    const { stop, ownStop } = situation
    if (stop !== undefined) return holdFor(situation, stop, "lane")
    return ownStop === undefined ? undefined : holdFor(situation, ownStop, "providers")
  }

  const paused: Row<F> = (situation) => {
    const { isPaused, disabled } = situation.terms
    if (isPaused) return hold(situation, "relayer_paused", {}, "relayer")
    return disabled === undefined ? undefined : hold(situation, disabled, {}, "relayer")
  }

  const notBefore: Row<F> = (situation) => {
    const { transaction, now } = situation
    const { notBefore } = transaction
    if (notBefore === undefined || now >= notBefore) return undefined
    return holdUntil(situation, cause("not_before", { until: notBefore }), "transaction", notBefore)
  }

  const signer: Row<F> = (situation) => {
    const { signerRetry } = situation
    if (signerRetry === undefined) return undefined
    const { code, at } = signerRetry
    return holdUntil(situation, cause(code, { until: at }), "lane", at)
  }

  const windowFull: Row<F> = (situation) => {
    const { lane, rest } = situation
    if (rest.inFlight < lane.windowSize) return undefined
    return hold(situation, "lane_window_full", { window: lane.windowSize, in_flight: rest.inFlight }, "lane")
  }

  return {
    pollNext,
    hold,
    holdFor,
    withoutFunds,
    restored,
    notWanted,
    deadline,
    policy,
    stopped,
    paused,
    notBefore,
    signer,
    windowFull
  }
}

// Whether what one provider shows is final: another one agrees, or for long no other one has had an opinion. The rule is the
// same for all networks.

/** Providers that must agree about what ends a transaction, if as many are configured. */
export const agreeing = 2

/** How many of the providers must agree. One that is alone decides by itself. */
export const neededOf = ({ configured }: { readonly configured: number }): number => Math.min(agreeing, configured)

/** Times the time until a block is final that no other provider has an opinion before one decides alone. */
const patience = 10

/** Times the required depth that a block has before one provider decides about it alone. */
export const depthOfOne = 2

export interface FinalityNumbers {
  /** Milliseconds between two blocks, slots or ledgers. */
  readonly blockTime: number
  /** Blocks on top of a block that make it final. */
  readonly required: number
  /** Milliseconds after which one provider decides alone. */
  readonly finalityByOne: number | "never"
}

/** What a transaction waits for, and since when. */
interface Waiting {
  readonly cause?: Cause
  readonly causeSince: Moment
}

/** What a provider says about what another one shows. `host` is masked. */
export type Opinion =
  | { readonly _tag: "Agrees" }
  | { readonly _tag: "Contradicts"; readonly host: string }
  /** Its head moves, and is not beyond what it is asked about. */
  | { readonly _tag: "Behind"; readonly host: string }
  /** It is stalled, or answers the question with errors or nothing. */
  | { readonly _tag: "Silent"; readonly host: string; readonly since: Moment; readonly error: string }

type Silent = Extract<Opinion, { readonly _tag: "Silent" }>

/**
 * `Missing`: nobody has an opinion. `Alone`: for so long that one provider decides, if its block is `depthOfOne` times as deep
 * as required. `Waiting`: another one can have an opinion soon.
 */
export type Verdict =
  | { readonly _tag: "Agreed" }
  | { readonly _tag: "Disputed"; readonly host?: string }
  | { readonly _tag: "Waiting" }
  | { readonly _tag: "Missing" | "Alone"; readonly figures: Pick<Figures, "host" | "error" | "decides_at"> }

/** Milliseconds without any other opinion after which one provider decides alone. Undefined: never. */
export const aloneAfter = ({ blockTime, required, finalityByOne }: FinalityNumbers): number | undefined =>
  finalityByOne === "never" ? undefined : Math.max(finalityByOne, patience * required * blockTime)

/** Since when nobody has had an opinion about the transaction. The ledger remembers it. Undefined: somebody had one. */
const missingSince = ({ cause, causeSince }: Waiting): Moment | undefined =>
  cause?.code === "second_provider_missing" ? causeSince : undefined

const missing = (
  { host, error }: Silent,
  numbers: FinalityNumbers,
  since: Moment | undefined,
  now: Moment,
  areStalled: boolean
): Verdict => {
  const after = aloneAfter(numbers)
  const decidesAt = after === undefined ? undefined : (since ?? now) + after
  const isOver = decidesAt !== undefined && now >= decidesAt && areStalled
  const figures = { host, error, ...(decidesAt === undefined ? {} : { decides_at: Math.max(decidesAt, now) }) }
  return { _tag: isOver ? "Alone" : "Missing", figures }
}

/**
 * `opinions`: of every other provider; empty if there is only one provider, which then decides alone. A time of silence that
 * another instance has seen counts, but each provider has to be silent here as well for as long as makes it stalled.
 */
export const verdictOf = (
  opinions: ReadonlyArray<Opinion>,
  transaction: Waiting,
  numbers: FinalityNumbers,
  now: Moment
): Verdict => {
  const silent: Array<Silent> = []
  let disputed: Verdict | undefined
  let isBehind = false
  for (const opinion of opinions) {
    if (opinion._tag === "Agrees") return { _tag: "Agreed" }
    if (opinion._tag === "Contradicts") disputed ??= { _tag: "Disputed", host: opinion.host }
    if (opinion._tag === "Behind") isBehind = true
    if (opinion._tag === "Silent") silent.push(opinion)
  }
  if (disputed !== undefined) return disputed
  const [first] = silent
  if (first === undefined) return { _tag: isBehind ? "Waiting" : "Agreed" }
  if (isBehind) return { _tag: "Waiting" }
  const since = missingSince(transaction)
  const areStalled = silent.every((one) => now - one.since >= stalledAfter(numbers.blockTime))
  return areStalled || since !== undefined ? missing(first, numbers, since, now, areStalled) : { _tag: "Waiting" }
}
