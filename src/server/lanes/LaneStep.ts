// One step of the holder of a lane: it reads the ledger, looks at the chain if that is due, decides, signs, commits and sends.
import { Clock, Effect } from "effect"
import { isFinal } from "../../domain/transaction/Transaction.ts"
import type { Transaction } from "../../domain/transaction/Transaction.ts"
import { earliest } from "../../domain/transaction/Moment.ts"
import type { Moment } from "../../domain/transaction/Moment.ts"
import { look, maxNoncesPerCommit } from "../../domain/transaction/Numbers.ts"
import { lookInterval } from "../../domain/transaction/NetworkNumbers.ts"
import type { Unreachable, View } from "../../domain/transaction/View.ts"
import type { LaneContents } from "../ledger/HeldLane.ts"
import type { StoredTransaction } from "../ledger/StoredTransaction.ts"
import * as ChainLook from "./ChainLook.ts"
import { assign } from "./LaneAssignment.ts"
import type { LaneContext, Work } from "./LaneContext.ts"
import { decideAll } from "./LaneDecisions.ts"
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
    nextLookAt: earliest(now + look.maximum, nextMoment)
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

/** A look per set of providers. */
const lookAll = Effect.fnUntraced(function* (work: Work) {
  const { context, lane, relayers, now } = work
  const looks = new Map<string, ChainLook.ChainLook>()
  const failures = new Map<string, Unreachable>()
  const inFlight = withNonce(work)
  for (const relayer of new Map([...relayers.values()].map((relayer) => [relayer.urlsKey, relayer])).values()) {
    const { numbers, urlsKey } = relayer
    const providers = yield* Providers.of(work, relayer)
    const own = inFlight.filter(({ relayerId }) => relayers.get(relayerId)?.urlsKey === urlsKey)
    const transactions = own.map(({ transaction }) => transaction)
    const { markets } = context.nodes
    const asked = { providers, markets, numbers, lane, transactions, memory: context.memory, now }
    const taken = yield* Effect.result(ChainLook.take(asked))
    if (taken._tag === "Success") {
      looks.set(urlsKey, taken.success)
      yield* Metrics.countLook("seen")
    } else {
      failures.set(urlsKey, ChainLook.unreachable(taken.failure, numbers, now))
      if (taken.failure.code === "mismatch") work.stop = "chain_changed"
      yield* Metrics.countLook(taken.failure.code === "mismatch" ? "chain_changed" : "unreachable")
    }
  }
  context.memory.looks = looks
  context.memory.lookedAt = now
  return failures
})

const viewsOf =
  ({ context: { memory }, now }: Work, failures: Failures) =>
  (transaction: Transaction, { urlsKey, numbers }: LaneRelayer): View => {
    const look = memory.looks.get(urlsKey)
    if (look !== undefined) return look.views.get(transaction.number) ?? look.base
    return (
      failures.get(urlsKey) ?? {
        _tag: "Unreachable",
        code: "providers_unavailable",
        retryAt: now + lookInterval(numbers)
      }
    )
  }

const fullLook = Effect.fnUntraced(function* (
  work: Work,
  contents: LaneContents,
  owner: StoredTransaction,
  poll: LaneRelayer
) {
  const failures = yield* lookAll(work)
  const { context } = work
  const found = context.memory.looks.get(poll.urlsKey)
  const opened = found === undefined ? [] : yield* LaneFloor.advance(work, contents.stored, owner, poll, found)
  if (work.stop === "chain_changed") {
    const { lane, nextLookAt } = work
    const { genesis } = contents.stored
    const known = genesis === undefined ? {} : { genesis }
    yield* context.ledger.saveLane(context.hold, {
      lane,
      ...known,
      usedTrust: false,
      code: "chain_changed",
      nextLookAt
    })
  }
  yield* decideAll(work, [...opened, ...withNonce(work)], viewsOf(work, failures))
  return failures
})

/** A transaction that was just accepted is decided with the newest look, if that is not older than a block. */
const isLookDue = ({ context: { memory }, now }: Work, { numbers }: LaneRelayer): boolean =>
  memory.lookedAt === undefined ||
  memory.looks.size === 0 ||
  now >= memory.lookedAt + lookInterval(numbers) ||
  now >= memory.nextLookAt

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
  const wait: Next = { _tag: "Wait", until: work.nextLookAt }
  if (work.rows.size === 0) return contents.pendingCount === 0 ? ({ _tag: "Idle" } as const) : wait
  const owner = oldest(work.rows).find(({ relayerId }) => work.relayers.has(relayerId))
  const poll = owner && work.relayers.get(owner.relayerId)
  if (owner === undefined || poll === undefined) return wait
  const isDue = isLookDue(work, poll)
  const failures: Failures = isDue ? yield* fullLook(work, contents, owner, poll) : new Map()
  const signed = yield* assign(work, poll, viewsOf(work, failures))
  memory.signed += signed
  const planned = isDue ? work.nextLookAt : Math.min(work.nextLookAt, memory.nextLookAt)
  const until = signed > 0 ? Math.min(planned, now + lookInterval(poll.numbers)) : planned
  memory.nextLookAt = until
  const next: Next = signed >= maxNoncesPerCommit ? { _tag: "Again" } : { _tag: "Wait", until }
  return next
})
