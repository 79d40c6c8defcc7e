// Why a transaction is in its state, since when, and what happens next.
import { Clock, DateTime, Effect, Option } from "effect"
import { sentenceOf } from "../../domain/health/Funding.ts"
import { networkId } from "../../domain/network/Network.ts"
import { unitOf } from "../../domain/relayer/Relayer.ts"
import type { Relayer } from "../../domain/relayer/Relayer.ts"
import { cause } from "../../domain/transaction/Cause.ts"
import type { Cause } from "../../domain/transaction/Cause.ts"
import type { Moment } from "../../domain/transaction/Moment.ts"
import { statusOf } from "../../domain/transaction/Presentation.ts"
import { isFinal } from "../../domain/transaction/Transaction.ts"
import type { TransactionExplanation } from "../../domain/transaction/TransactionRequests.ts"
import { Ledger } from "../ledger/Ledger.ts"
import { LedgerRules } from "../ledger/LedgerRules.ts"
import type { StoredLane } from "../ledger/StoredLane.ts"
import type { StoredTransaction } from "../ledger/StoredTransaction.ts"
import { RelayerHealth } from "../health/RelayerHealth.ts"
import { RelayerTargets } from "../relayers/RelayerTargets.ts"
import * as Predecessors from "./Predecessors.ts"
import type { Waiting } from "./Predecessors.ts"

const instant = (moment: Moment): DateTime.Utc => DateTime.makeUnsafe(moment)

/** Figures that change with every block, as they are now. */
const withDepth = (why: Cause, height: number | undefined): Cause => {
  const { block, required_blocks = Infinity } = why.figures
  if (block === undefined || height === undefined) return why
  // Between two polls the row stays open, however many blocks there are.
  return { ...why, figures: { ...why.figures, blocks: Math.min(Math.max(height - block, 0), required_blocks) } }
}

const missingOf = ({ required = 0n, available = 0n, minimum = 0n }: Cause["figures"]): bigint =>
  required + minimum > available ? required + minimum - available : 0n

/** Before the first check, the balance of the relayer is not known. */
const sendAtLeast = (missing: bigint, { address, network, network_type }: Relayer): string =>
  `Send at least ${missing} ${unitOf[network_type]} to ${address} on ${networkId(network_type, network)}.`

export const make = Effect.gen(function* () {
  const ledger = yield* Ledger
  const networks = yield* LedgerRules
  const targets = yield* RelayerTargets
  const predecessors = yield* Predecessors.make
  const health = yield* RelayerHealth

  /** A transaction behind others of a paused relayer waits for the same. */
  const queued = Effect.fnUntraced(function* ({ id, laneId, relayerId }: StoredTransaction) {
    const target = yield* Effect.option(targets.get(relayerId))
    if (Option.isSome(target) && target.value.relayer.paused) return cause("relayer_paused")
    return cause("queued", { position: yield* ledger.ahead(laneId, id) })
  })

  const withFigures = Effect.fnUntraced(function* (stored: StoredTransaction, why: Cause, of: StoredLane) {
    const {
      chain,
      lane: { accounts, windowSize }
    } = of
    switch (why.code) {
      case "queued":
        return yield* queued(stored)
      case "mined_waiting":
      case "reverted_unconfirmed":
        return withDepth(why, accounts[0].chainBlock?.number)
      case "lane_window_full": {
        const { inFlight } = yield* ledger.countLane({ address: accounts[0].address, chain })
        return cause("lane_window_full", { window: windowSize, in_flight: inFlight })
      }
      default:
        return why
    }
  })

  const waitingOf = Effect.fnUntraced(function* (
    stored: StoredTransaction,
    lane: Option.Option<StoredLane>
  ): Effect.fn.Return<Waiting> {
    const why = stored.transaction.cause ?? cause("queued")
    const since = stored.transaction.causeSince
    if (Option.isNone(lane)) return { why, since }
    // Only the first transaction of a lane that has stopped is decided about.
    const { code, codeSince } = lane.value
    const isStopped = code === "chain_changed" && why.code !== code && stored.transaction.state === "pending"
    if (isStopped && !stored.transaction.restored) return { why: cause(code), since: codeSince ?? since }
    return (yield* predecessors(stored)) ?? { why: yield* withFigures(stored, why, lane.value), since }
  })

  const wordsOf = Effect.fnUntraced(function* ({ chain, relayerId }: StoredTransaction, why: Cause, ended: boolean) {
    const words = networks.of(chain).rules.explain(why, ended)
    if (ended || why.code !== "insufficient_funds") return words
    const missing = missingOf(why.figures)
    const target = yield* Effect.option(targets.get(relayerId))
    if (missing === 0n || Option.isNone(target)) return words
    // The same sum as in the explanation of the relayer.
    const funding = yield* Effect.orElseSucceed(health.funding(relayerId, missing), () => undefined)
    const sum = funding === undefined ? sendAtLeast(missing, target.value.relayer) : sentenceOf(funding)
    return { ...words, next: `${sum} ${words.next}` }
  })

  return Effect.fnUntraced(function* (stored: StoredTransaction) {
    const { transaction, laneId } = stored
    const ended = isFinal(transaction)
    const lane = ended ? Option.none() : yield* ledger.laneById(laneId)
    const { why, since } = yield* waitingOf(stored, lane)
    const now = yield* Clock.currentTimeMillis
    const explanation: TransactionExplanation = {
      status: statusOf(transaction.state),
      code: why.code,
      ...(yield* wordsOf(stored, why, ended)),
      figures: why.figures,
      since: instant(since),
      ...(Option.isNone(lane) ? {} : { next_at: instant(Math.max(lane.value.nextPollAt, now)) })
    }
    return explanation
  })
})
