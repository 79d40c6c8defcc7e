// One step of the holder of a lane: it reads the ledger, polls the chain if that is due, decides, signs, commits and sends.
import { Clock, Effect } from "effect"
import { isFinal } from "../../domain/transaction/Transaction.ts"
import type { Transaction } from "../../domain/transaction/Transaction.ts"
import { earliest } from "../../domain/transaction/Moment.ts"
import type { Moment } from "../../domain/transaction/Moment.ts"
import { poll, maxNoncesPerCommit } from "../../domain/transaction/Numbers.ts"
import { pollInterval } from "../../domain/transaction/NetworkNumbers.ts"
import type { Unreachable, View } from "../../domain/transaction/View.ts"
import type { LaneContents } from "../ledger/HeldLane.ts"
import type { StoredTransaction } from "../ledger/StoredTransaction.ts"
import * as ChainPoll from "./ChainPoll.ts"
import { assign } from "./LaneAssignment.ts"
import type { LaneContext, Work } from "./LaneContext.ts"
import { decideAll } from "./LaneDecisions.ts"
import * as LaneBalance from "./LaneBalance.ts"
import * as LaneFloor from "./LaneFloor.ts"
import * as Metrics from "./LaneMetrics.ts"
import * as Providers from "./LaneProviders.ts"
import * as LaneRelayers from "./LaneRelayers.ts"
import type { LaneRelayer } from "./LaneRelayers.ts"
import * as LaneTraces from "./LaneTraces.ts"
import { holdAll } from "./LaneUnusable.ts"

type Next =
  | { readonly _tag: "Idle" }
  | { readonly _tag: "Again" }
  /** Until then, or until the lane is woken. */
  | { readonly _tag: "Wait"; readonly until: Moment }

type Failures = ReadonlyMap<string, Unreachable>

const workOf = Effect.fnUntraced(function* (
  context: LaneContext,
  { stored, inFlight, pending, nextMoment }: LaneContents
) {
  const open = [...inFlight, ...pending]
  const now = yield* Clock.currentTimeMillis
  const { relayers, unusable } = yield* LaneRelayers.load(
    context.targets,
    open.map(({ relayerId }) => relayerId)
  )
  const { window } = context.memory
  const work: Work = {
    context,
    now,
    relayers,
    budget: yield* context.fees.budgetOf(open),
    genesis: stored.genesis,
    lane: window === undefined ? stored.lane : { ...stored.lane, windowSize: window },
    stop: stored.code === "deep_reorg" ? undefined : stored.code,
    isDeepReorg: stored.code === "deep_reorg",
    rows: new Map(open.map((one) => [one.transaction.number, one])),
    nextPollAt: earliest(now + poll.maximum, nextMoment)
  }
  yield* holdAll(work, unusable)
  return work
})

/** Open transactions, those that were accepted first in front. */
const oldest = (rows: Work["rows"]): ReadonlyArray<StoredTransaction> =>
  [...rows.values()].toSorted((one, other) => one.transaction.number - other.transaction.number)

const byNonce = (one: StoredTransaction, other: StoredTransaction): number =>
  (one.transaction.nonce ?? 0) - (other.transaction.nonce ?? 0)

const withNonce = ({ rows }: Work): ReadonlyArray<StoredTransaction> =>
  [...rows.values()]
    .filter(({ transaction }) => transaction.nonce !== undefined && !isFinal(transaction))
    .toSorted(byNonce)

/** One poll for each set of providers. */
const pollAll = Effect.fnUntraced(function* (work: Work) {
  const { context, lane, relayers, now } = work
  const polls = new Map<string, ChainPoll.ChainPoll>()
  const failures = new Map<string, Unreachable>()
  const inFlight = withNonce(work)
  for (const relayer of new Map([...relayers.values()].map((relayer) => [relayer.urlsKey, relayer])).values()) {
    const { numbers, urlsKey } = relayer
    const providers = yield* Providers.of(work, relayer)
    const own = inFlight.filter(({ relayerId }) => relayers.get(relayerId)?.urlsKey === urlsKey)
    const transactions = own.map(({ transaction }) => transaction)
    const { memory, nodes } = context
    const headAfter = memory.polls.get(urlsKey)?.headAskedAt ?? 0
    const balance = LaneBalance.known(work)
    const asked = { providers, nodes, numbers, lane, transactions, memory, now, headAfter, balance }
    const taken = yield* Effect.result(ChainPoll.take(asked))
    if (taken._tag === "Success") {
      polls.set(urlsKey, taken.success)
      yield* Metrics.countPoll("seen")
    } else {
      failures.set(urlsKey, ChainPoll.unreachable(taken.failure, numbers, now))
      if (taken.failure.code === "mismatch") work.stop = "chain_changed"
      yield* Metrics.countPoll(taken.failure.code === "mismatch" ? "chain_changed" : "unreachable")
    }
  }
  context.memory.polls = polls
  context.memory.polledAt = now
  return failures
})

const viewsOf =
  ({ context: { memory }, now }: Work, failures: Failures) =>
  (transaction: Transaction, { urlsKey, numbers }: LaneRelayer): View => {
    const found = memory.polls.get(urlsKey)
    if (found !== undefined) return found.views.get(transaction.number) ?? found.base
    return (
      failures.get(urlsKey) ?? {
        _tag: "Unreachable",
        code: "providers_unavailable",
        retryAt: now + pollInterval(numbers)
      }
    )
  }

const fullPoll = Effect.fnUntraced(function* (
  work: Work,
  contents: LaneContents,
  owner: StoredTransaction,
  lead: LaneRelayer
) {
  const failures = yield* pollAll(work)
  const { context } = work
  const found = context.memory.polls.get(lead.urlsKey)
  const opened = found === undefined ? [] : yield* LaneFloor.advance(work, contents.stored, owner, lead, found)
  if (work.stop === "chain_changed") {
    const { lane, nextPollAt } = work
    const { genesis } = contents.stored
    const known = genesis === undefined ? {} : { genesis }
    yield* context.ledger.saveLane(context.hold, {
      lane,
      ...known,
      usedTrust: false,
      code: "chain_changed",
      nextPollAt
    })
  }
  yield* decideAll(work, [...opened, ...withNonce(work)], viewsOf(work, failures))
  return failures
})

/** The decision about a transaction that was just accepted uses the newest poll, if that is not older than a block. */
const isPollDue = ({ context: { memory }, now }: Work, { numbers }: LaneRelayer): boolean =>
  memory.polledAt === undefined ||
  memory.polls.size === 0 ||
  now >= memory.polledAt + pollInterval(numbers) ||
  now >= memory.nextPollAt

export const run = Effect.fn("LaneStep.run")(function* (context: LaneContext) {
  const { ledger, hold, memory } = context
  const now = yield* Clock.currentTimeMillis
  let contents = yield* ledger.read(hold)
  if (contents.nextMoment !== undefined && contents.nextMoment <= now) {
    const expired = yield* ledger.expire(hold)
    yield* Metrics.countFinal(expired)
    yield* LaneTraces.showFinal(expired)
    contents = yield* ledger.read(hold)
  }
  const work = yield* workOf(context, contents)
  const wait: Next = { _tag: "Wait", until: work.nextPollAt }
  if (work.rows.size === 0) return contents.pendingCount === 0 ? ({ _tag: "Idle" } as const) : wait
  const owner = oldest(work.rows).find(({ relayerId }) => work.relayers.has(relayerId))
  const lead = owner && work.relayers.get(owner.relayerId)
  if (owner === undefined || lead === undefined) return wait
  const isDue = isPollDue(work, lead)
  const failures: Failures = isDue ? yield* fullPoll(work, contents, owner, lead) : new Map()
  const signed = yield* assign(work, lead, viewsOf(work, failures))
  memory.signed += signed
  const planned = isDue ? work.nextPollAt : Math.min(work.nextPollAt, memory.nextPollAt)
  const until = signed > 0 ? Math.min(planned, now + pollInterval(lead.numbers)) : planned
  memory.nextPollAt = until
  const next: Next = signed >= maxNoncesPerCommit ? { _tag: "Again" } : { _tag: "Wait", until }
  return next
})
