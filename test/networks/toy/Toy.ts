// A network type for tests, as small as one can be: two accounts per lane, sequences above 2^53, and bytes that expire at a
// height. It proves that the core knows no network. Its chain is `ToyChain.ts`.
import { Effect, Result, Schema } from "effect"
import type { Relayer } from "../../../src/domain/relayer/Relayer.ts"
import { NotImplemented } from "../../../src/domain/request/Request.ts"
import { cause } from "../../../src/networks/core/Cause.ts"
import type { Family } from "../../../src/networks/core/Family.ts"
import { cancelOpen, Command, finish, mine, sign } from "../../../src/networks/core/Rules.ts"
import type { Commands, Rules, Situation } from "../../../src/networks/core/Rules.ts"
import type { Lane, Receipt } from "../../../src/networks/core/Transaction.ts"
import { exceeded, TransactionLimitExceeded } from "../../../src/networks/core/TransactionLimits.ts"
import type { Place } from "../../../src/networks/core/TransactionValues.ts"
import { endOf } from "../../../src/networks/core/Transition.ts"
import { rulesOfUnknown } from "../../../src/networks/core/UnknownNetwork.ts"
import type { Intake } from "../../../src/server/transactions/Intake.ts"

/** Heights after which bytes cannot be included any more; heights that make an inclusion final; milliseconds to a deadline. */
const [life, depth, minute] = [3, 1, 60_000]

/** Transactions of one account in flight at most. */
const perAccount = 2n

const ToyBody = Schema.Struct({
  to: Schema.String.check(Schema.isPattern(/^[a-z]{1,32}$/u, { expected: "1 to 32 small letters" })),
  amount: Schema.Natural
})

const Request = Schema.Struct({ to: Schema.String, amount: Schema.BigIntFromString })

/** What a poll has seen about one transaction. `next`: the next sequence of the account of its place. */
interface Seen {
  readonly height: number
  readonly next?: bigint
  readonly receipt?: Receipt<Toy>
}

export interface Toy extends Family {
  readonly type: "stellar"
  readonly target: Relayer
  readonly body: typeof ToyBody.Type
  readonly replacement: never
  readonly simulation: never
  readonly request: typeof Request.Type
  readonly offer: { readonly expires: number }
  /** The highest sequence in flight, by account. */
  readonly survey: ReadonlyMap<string, bigint>
  readonly seen: Seen
  readonly question: never
  readonly answer: "accepted" | "refused"
  readonly foreign: never
}

/** The account with fewer transactions in flight. */
const placeOf = ({ accounts }: Lane<Toy>): Place | undefined => {
  const inFlight = ({ nextSequence, chainSequence }: (typeof accounts)[number]) => nextSequence - chainSequence
  const [best] = accounts.toSorted((one, other) => Number(inFlight(one) - inFlight(other)))
  if (best === undefined || inFlight(best) >= perAccount) return undefined
  return { account: best.address, sequence: best.nextSequence }
}

const decidePending = ({ transaction, lane, view: { height } }: Situation<Toy, Seen>): Commands<Toy> => {
  if (transaction.restored) return [Command.Hold({ cause: cause("restored_unproven"), scope: "transaction" })]
  if (placeOf(lane) === undefined) return [Command.Hold({ cause: cause("lane_window_full"), scope: "lane" })]
  return [sign<Toy>({ kind: "original", offer: { expires: height + life }, maxFee: 1n, cause: cause("sending") })]
}

/** Nothing of it can be included any more: the place is given up, and the request gets another one or ends. */
const giveUp = ({ transaction, now }: Situation<Toy, Seen>, next: bigint): Commands<Toy> => {
  const { intent, requeues, restored, validUntil } = transaction
  if (intent === "execute" && now < validUntil) {
    return [Command.Requeue({ restored, requeues, cause: cause("queued"), frees: { next } })]
  }
  return [finish({ ...endOf({ intent: intent === "execute" ? "expire" : intent }), frees: { next } })]
}

const decideInFlight = (situation: Situation<Toy, Seen>): Commands<Toy> => {
  const { transaction, rest, now, view } = situation
  const { place, state, intent } = transaction
  const attempt = transaction.attempts.at(-1)
  if (attempt === undefined || place?.sequence === undefined) return [Command.Rest()]
  if (view.receipt !== undefined) {
    const mined = { ordinal: attempt.ordinal, receipt: view.receipt }
    if (view.height < view.receipt.height + depth) {
      return state === "mined" ? [Command.Rest()] : [mine({ mined, state: "mined", cause: cause("mined_waiting") })]
    }
    return [finish({ state: "confirmed", cause: cause("confirmed"), mined })]
  }
  if (view.next !== undefined && view.next > place.sequence) {
    return [finish({ state: "failed", cause: cause("nonce_unavailable"), losesPlace: true })]
  }
  if (view.height > attempt.offer.expires) {
    // Places are given up from the highest one down, so that none is given away twice.
    return rest.survey.get(place.account) === place.sequence
      ? giveUp(situation, place.sequence)
      : [Command.PollAt({ at: now })]
  }
  if (intent === "execute" && attempt.outcome !== "accepted")
    return [Command.Broadcast({ ordinals: [attempt.ordinal] })]
  return [Command.Hold({ cause: cause(intent === "execute" ? "in_pool" : "canceling"), scope: "transaction" })]
}

const decide = ({ view, ...situation }: Situation<Toy>): Commands<Toy> => {
  if ("_tag" in view) return [Command.Hold({ cause: cause("providers_unavailable"), scope: "lane" })]
  return situation.transaction.place === undefined
    ? decidePending({ ...situation, view })
    : decideInFlight({ ...situation, view })
}

/** What does not matter here is that of a network that the service does not know. */
const unknown: Rules = rulesOfUnknown("toy")

export const toyRules: Rules<Toy> = {
  ...unknown,
  type: "stellar",
  request: Request,
  offer: Schema.Struct({ expires: Schema.Int }),
  receipt: Schema.Struct({
    height: Schema.Int,
    isSuccess: Schema.Boolean,
    paid: Schema.BigIntFromString,
    details: Schema.Unknown
  }),
  targetOf: ({ relayer }) => (relayer.network_type === "stellar" ? relayer : undefined),
  laneOf: ({ address }) => ({ chain: "stellar:toy", address, window: 8 }),
  pollInterval: () => 50,
  termsOf: () => ({ isAllowed: true, minBalance: 0n }),
  survey: (open) => {
    const highest = new Map<string, bigint>()
    for (const { place } of open) {
      const { account, sequence = 0n } = place ?? { account: "" }
      if (sequence > (highest.get(account) ?? 0n)) highest.set(account, sequence)
    }
    return highest
  },
  placeOf,
  decide,
  costOf: (request) => (request?.amount ?? 0n) + 1n,
  maxFeeOf: () => 1n,
  hear: (_, attempt, answers, { at, height }) => ({
    attempt: {
      ...attempt,
      sends: attempt.sends + 1,
      firstSent: attempt.firstSent ?? { at, height },
      outcome: answers[0] ?? "unknown"
    },
    isAccepted: answers.includes("accepted"),
    triesOlder: false,
    isWindowFull: false
  }),
  replaced: (transaction) => transaction,
  cancel: (transaction) =>
    cancelOpen(transaction) ??
    Result.succeed(
      transaction.state === "pending"
        ? { _tag: "finish" }
        : { _tag: "intend", intent: "cancel", cause: cause("canceling") }
    )
}

export const toyIntake: Intake<Toy> = {
  rules: toyRules,
  body: ToyBody,
  replacement: Schema.Never,
  namesOf: () => Effect.succeed({}),
  admit: Effect.fnUntraced(function* ({ to, amount }, _, { now, limits, prefix }) {
    const sent = { value: BigInt(amount), receivers: [{ field: "to", address: to }] }
    const violation = limits === undefined ? undefined : exceeded("stellar", sent, limits)
    if (violation !== undefined) return yield* TransactionLimitExceeded.of(violation, prefix)
    return {
      request: { to, amount: BigInt(amount) },
      facts: {},
      validUntil: now + minute,
      priority: 0,
      fee: 1n
    }
  }),
  isNewest: () => false,
  admitReplacement: () => Effect.fail(new NotImplemented({ error: "transactions of the toy network are not replaced" }))
}
