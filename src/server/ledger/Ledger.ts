// The ledger for callers: it accepts, shows, cancels and replaces transactions, and never waits for a lane.
import { Context, Effect, Layer } from "effect"
import type { Array as Arr, Option } from "effect"
import type { TooManyRequests } from "../../domain/access/Caller.ts"
import type { RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import type { Series } from "../../domain/request/Page.ts"
import type { BadRequest } from "../../domain/request/Request.ts"
import { Events } from "../events/Events.ts"
import { Outbox } from "../outbox/Outbox.ts"
import type { Code } from "../../networks/core/Cause.ts"
import type { LaneKey, TransactionConflict } from "../../networks/core/Rules.ts"
import type { Watched } from "../../networks/core/Transaction.ts"
import type { FeeLimitExceeded, RelayerPaused } from "../../networks/core/TransactionLimits.ts"
import type { Moment, TransactionId, TransactionNotFound } from "../../networks/core/TransactionValues.ts"
import type { LimitKey } from "./AcceptanceChecks.ts"
import * as Accepting from "./Accepting.ts"
import { makeGiving } from "./Accepting.ts"
import * as LedgerChanges from "./LedgerChanges.ts"
import type {
  TermsForgotten,
  Accepted,
  Account,
  AttemptBytes,
  FeeLimit,
  GivenPlace,
  GivenSignature,
  IssuedSignature,
  LaneCounts,
  LaneId,
  NamedBody,
  NewTransaction,
  StoredLane,
  StoredTransaction
} from "./LedgerEntries.ts"
import * as LedgerReads from "./LedgerReads.ts"
import type { Filter, RelayerOnNetwork, SelectedTransactions, Selection } from "./LedgerReads.ts"
import * as LedgerOperations from "./Operators.ts"
import type { Cleared, Clearing, Decision } from "./Operators.ts"
import type { OpenRequest, PastDays } from "./RelayerTransactionsRepo.ts"
import type { AttemptKey } from "./SignaturesRepo.ts"
import type { FinalStep, OpenSummary } from "./StatisticsRepo.ts"
import * as MemoryHolds from "./memory/MemoryHolds.ts"
import * as MemoryReading from "./memory/MemoryReading.ts"
import * as MemoryTransactions from "./memory/MemoryTransactions.ts"

export class Ledger extends Context.Service<
  Ledger,
  {
    /**
     * All or none. `limits` are those of the caller's key and of its creators. With remembered terms, it only accepts: it fails with `TermsForgotten` if the
     * terms are others by now, and also if something has to be waited for or compared.
     */
    accept(
      account: Account,
      transactions: Arr.NonEmptyReadonlyArray<NewTransaction>,
      limits?: ReadonlyArray<FeeLimit>
    ): Effect.Effect<
      Arr.NonEmptyReadonlyArray<Accepted>,
      RelayerNotFound | RelayerPaused | TransactionConflict | TooManyRequests | FeeLimitExceeded | TermsForgotten
    >
    /**
     * Transactions that were accepted before with the same `external_id` or the same bytes, and the same body: what `accept`
     * would return for them, whatever keeps the bodies from being accepted now. In the order of the bodies, undefined where
     * there is none; empty if no body has a name. Fails if one of them had another body.
     */
    repeated(
      account: Account,
      bodies: ReadonlyArray<NamedBody>
    ): Effect.Effect<ReadonlyArray<StoredTransaction | undefined>, TransactionConflict>
    /**
     * The transaction of the relayer that requires the sequence and has the same body, if it is open or was executed: a second one
     * could never be executed. Undefined: there is none.
     */
    requiring(account: Account, sequence: bigint, body: string): Effect.Effect<StoredTransaction | undefined>
    /**
     * Stores a signature before the caller gets it. It is never sent. While it can land, its fee counts in the funds of the
     * lane; it counts for the limits of the key for 24 hours, landed or not. The same identity again returns what was given
     * before. Fails if a transaction has the same bytes, also if the service built them.
     */
    give(
      account: Account,
      given: GivenSignature,
      limits?: ReadonlyArray<FeeLimit>
    ): Effect.Effect<IssuedSignature, RelayerNotFound | RelayerPaused | TransactionConflict | FeeLimitExceeded>
    /** What callers of the relayer got for the same bytes. Fails if a transaction has them. */
    given(account: Account, identity: string): Effect.Effect<IssuedSignature | undefined, TransactionConflict>
    /** Signatures that callers got and that can land at `now`, at sequences of the lane's own account that are not used yet. */
    givenPlaces(lane: LaneId, now: Moment): Effect.Effect<ReadonlyArray<GivenPlace>>
    get(relayerNumber: number, id: TransactionId): Effect.Effect<StoredTransaction, TransactionNotFound>
    /** In the present generation of the lane; the request that has it, or had it last. */
    bySequence(relayerNumber: number, sequence: bigint): Effect.Effect<StoredTransaction, TransactionNotFound>
    select(selection: Selection): Effect.Effect<SelectedTransactions>
    /** Counts to `maxCountedTransactions`. */
    count(filter: Filter): Effect.Effect<number>
    /** Requests of the relayer that are pending, signed or submitted, oldest first. */
    cancelable(relayerNumber: number): Effect.Effect<ReadonlyArray<OpenRequest>>
    /** How many transactions of the relayer are open. */
    countOpen(relayerNumber: number): Effect.Effect<number>
    /** Channels that are not released, of the account with this address. */
    countChannels(address: string): Effect.Effect<number>
    /** The same of the account of a relayer on its network. */
    countChannelsOf(of: RelayerOnNetwork): Effect.Effect<number>
    /** Why the lane of a relayer on its network signs nothing. Undefined: it signs, or there is no lane yet. */
    laneCodeOf(of: RelayerOnNetwork): Effect.Effect<Code | undefined>
    /** The lane of a relayer on its network. None: nothing was ever sent. */
    laneOn(of: RelayerOnNetwork): Effect.Effect<Option.Option<StoredLane>>
    /** The largest sum for which an open transaction of the relayer waits. 0: no transaction waits for funds. */
    largestShortage(relayerNumber: number): Effect.Effect<bigint>
    /** The open transaction of the relayer that was accepted first, of those that wait for something that is missing. */
    firstWaiting(relayerNumber: number): Effect.Effect<Option.Option<StoredTransaction>>
    /** Final requests of each day, the newest day first. Days are 24 hours that end now. */
    countFinalByDay(relayerNumber: number, past: PastDays): Effect.Effect<ReadonlyArray<number>>
    /** Requests that became final, by steps of time; steps without any are left out. Without `relayers`: of all. */
    finalSteps(series: Series, relayers: ReadonlyArray<number> | undefined): Effect.Effect<ReadonlyArray<FinalStep>>
    /** The same from sums of quarters of an hour. Its steps are multiples of a quarter. */
    summedSteps(series: Series, relayers: ReadonlyArray<number> | undefined): Effect.Effect<ReadonlyArray<FinalStep>>
    /** Requests that are open. Without `relayers`: of all. */
    openSummary(relayers: ReadonlyArray<number> | undefined): Effect.Effect<OpenSummary>
    /** When the relayer's last request was confirmed. */
    lastConfirmed(relayerNumber: number): Effect.Effect<Option.Option<Moment>>
    bytes(attempts: ReadonlyArray<AttemptKey>): Effect.Effect<ReadonlyArray<AttemptBytes>>
    /**
     * What the transactions of the key and of its descendants on networks of the type have cost in the last 24 hours, or can
     * cost while open, in the smallest unit.
     */
    feesOfLastDay(limit: LimitKey): Effect.Effect<bigint>

    /** `onlyPending`: as `cancelUnsigned` of `Rules.ts`. */
    cancel(
      relayerNumber: number,
      id: TransactionId,
      onlyPending?: boolean
    ): Effect.Effect<StoredTransaction, TransactionNotFound | TransactionConflict>
    /** Normal providers get the bytes of a private transaction from now on. One that is public already stays as it is. */
    publish(
      relayerNumber: number,
      id: TransactionId
    ): Effect.Effect<StoredTransaction, TransactionNotFound | TransactionConflict>
    /** Cancels them in one SQL transaction. Returns those that are canceled or are being ended. */
    cancelMany(relayerNumber: number, ids: ReadonlyArray<TransactionId>): Effect.Effect<ReadonlyArray<TransactionId>>
    /**
     * Cancels the transaction if it has no bytes, and returns it as it was before: it is never executed. None: it was signed,
     * or is final. The row is locked from the check to the cancel, so no lane can sign it in between.
     */
    withdraw(
      relayerNumber: number,
      id: TransactionId
    ): Effect.Effect<Option.Option<StoredTransaction>, TransactionNotFound | TransactionConflict>
    /** Adds a version of the request. Without `validUntil`, the deadline stays. */
    replace(
      relayerNumber: number,
      id: TransactionId,
      request: unknown,
      validUntil?: Moment
    ): Effect.Effect<
      StoredTransaction,
      TransactionNotFound | TransactionConflict | RelayerNotFound | RelayerPaused | BadRequest
    >

    /** The open transaction of the lane that excludes others by this text, as `Rules.exclusiveOf` says. */
    excluding(key: LaneKey, exclusive: string): Effect.Effect<Option.Option<StoredTransaction>>
    /** Stores what a check has found out about the account of a lane. False: another check has stored something since `before` was read. */
    watch(key: LaneKey, before: Watched | undefined, watched: Watched): Effect.Effect<boolean>
    laneById(id: LaneId): Effect.Effect<Option.Option<StoredLane>>
    laneOf(key: LaneKey): Effect.Effect<Option.Option<StoredLane>>
    /** How many transactions of the lane are open. */
    countLane(key: LaneKey): Effect.Effect<LaneCounts>
    /** Open transactions by the channel of the lane whose place they have. */
    channelPlaces(lane: LaneId): Effect.Effect<ReadonlyMap<string, TransactionId>>
    /**
     * What the transactions of the lane in flight, and signatures that were given, can cost, in the smallest unit of the chain.
     * `height`: a height that the chain has passed for good. Absent: the height of the lane's latest poll.
     */
    reserved(key: LaneKey, height?: number): Effect.Effect<bigint>
    /** The number of pending transactions that are ahead of this one in the lane. */
    ahead(lane: LaneId, id: TransactionId): Effect.Effect<number>
    /** The pending transaction of the lane whose turn is first, if it is before that of `id`. */
    firstAhead(lane: LaneId, id: TransactionId): Effect.Effect<Option.Option<StoredTransaction>>
    /** The transaction of the lane in flight with the lowest sequence. Those that no block contains come first. */
    firstInFlight(lane: LaneId): Effect.Effect<Option.Option<StoredTransaction>>
    /** The first pending transaction of the lane that can get a sequence below the one that `id` requires. */
    firstPendingBelow(lane: LaneId, id: TransactionId, now: Moment): Effect.Effect<Option.Option<StoredTransaction>>
    /**
     * An operator says that the chain's count is right, and what becomes of transactions whose fate cannot be proven: all of
     * the lane, or one. Returns those that it decided. Fails if there are none because their sequences are open.
     */
    resync<E = never>(
      account: Account,
      decision: Decision<E>
    ): Effect.Effect<ReadonlyArray<StoredTransaction>, TransactionNotFound | TransactionConflict | E>
    /** Nothing is to happen at the sequences of the relayer's open transactions, from `from` to `to`. */
    clear<E>(account: Account, clearing: Clearing<E>): Effect.Effect<Cleared, E>
    /**
     * The chain began anew: the lane starts with sequence 0. Returns the transactions that end because of it. Like `resync`, it fails if the
     * lane has open transactions of relayers that the caller may not use.
     */
    beginGeneration(account: Account): Effect.Effect<ReadonlyArray<StoredTransaction>, TransactionConflict>
  }
>()("effect-relayer/server/ledger/Ledger") {
  /** @internal */
  static readonly layerNoDeps = Layer.effect(
    Ledger,
    Effect.gen(function* () {
      return Ledger.of({
        ...(yield* Accepting.make),
        ...(yield* makeGiving),
        ...(yield* LedgerReads.make),
        ...(yield* LedgerChanges.make),
        ...(yield* LedgerOperations.make)
      })
    })
  )

  /** @internal */
  static readonly layer = this.layerNoDeps.pipe(Layer.provide([Events.layer, Outbox.layer]))

  /**
   * For tests: it behaves as the one on a database, on tables of `LedgerMemory`. Every relayer exists and is not paused, no API key
   * was made by another one, and the audit log is not written.
   *
   * @internal
   */
  static readonly layerMemory = Layer.effect(
    Ledger,
    Effect.gen(function* () {
      const transactions = yield* MemoryTransactions.make
      const reading = yield* MemoryReading.make
      const { bytes, givenPlaces } = (yield* MemoryHolds.make).reading
      return Ledger.of({
        ...transactions,
        ...reading,
        bytes,
        givenPlaces: (laneId, now) => givenPlaces({ laneId }, now)
      })
    })
  )
}
