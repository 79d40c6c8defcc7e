// The ledger for the holder of a lane. Every write checks that the process still holds the lane; a lost lane writes nothing. The terms:
//
// - ledger: what the database has of transactions, their attempts and their lanes
// - lane: the transactions of one account on one chain, in one order
// - hold: the right of one process to write to a lane; it ends with its lease, unless the process renews it. `epoch` counts the
//   claims of the lane: a process with an older epoch writes nothing
// - claim, renew, release: take, keep and give up a hold
// - row: a stored transaction with its attempts
// - attempt: one signed version of a transaction; its bytes are stored before they are sent
// - place: an account and a sequence there, where the bytes of a transaction count; on evm the sequence is the nonce
// - gap: a sequence below a used one that no transaction has; a transaction of the service fills it
// - channel: an account that the lane signs with besides its first one; the service makes and ends it by transactions of its own
// - commit: places and bytes in one transaction of the database, before anything is sent
// - record: what nodes answered, and what followed, after it happened
import { Context, Effect, Layer, Option } from "effect"
import type { Array as Arr, Duration, Redacted, Scope } from "effect"
import type { NetworkType } from "../../domain/network/Network.ts"
import type { AddressPart } from "../../sql/Rows.ts"
import { listen } from "../../sql/Session.ts"
import { client } from "../../sql/Transaction.ts"
import { Events } from "../events/Events.ts"
import { Outbox } from "../outbox/Outbox.ts"
import type { Moment, TransactionId } from "../../networks/core/TransactionValues.ts"
import { ClaimsRepo, makeLaneFence, makeLaneReading, rememberedRows } from "./Claims.ts"
import type { LaneAccess } from "./Claims.ts"
import { Holder, LedgerMark } from "./Holder.ts"
import type { AcceptedHere } from "./Holder.ts"
import { makeLaneChannels, makeLaneRestores } from "./LaneChannels.ts"
import type { ChannelWork, LaneChannels, LaneWithChannels, Restore } from "./LaneChannels.ts"
import { makeLaneCommits, makeLaneRecords } from "./LaneWrites.ts"
import { makeLaneAccounts } from "./LanesRepo.ts"
import { commandsChannel } from "./LedgerEntries.ts"
import type {
  Account,
  AttemptBytes,
  Decided,
  GapSignature,
  GivenPlace,
  HeldLane,
  Hold,
  LaneChanged,
  LaneContents,
  LaneId,
  LaneLost,
  LaneNews,
  ReadRelayer,
  LaneState,
  ReleaseReason,
  SentAttempt,
  Signature,
  StoredLane,
  StoredTransaction
} from "./LedgerEntries.ts"
import { makeKeyLandings } from "./RelayerTransactionsRepo.ts"
import type { KeyLandings } from "./RelayerTransactionsRepo.ts"
import * as SharedWrites from "./SharedWrites.ts"
import { makeAttempts, makeGivenSignatures } from "./SignaturesRepo.ts"
import type { AttemptKey } from "./SignaturesRepo.ts"
import * as MemoryLanes from "./memory/MemoryLanes.ts"

/** Claims on lanes by this process. */
const claimsOf = Effect.fnUntraced(function* ({ memory }: LaneAccess) {
  const repo = yield* ClaimsRepo
  const mark = yield* LedgerMark

  const claim = Effect.fn("LaneLedger.claim")(function* (
    types: ReadonlyArray<string>,
    limit: number,
    among?: ReadonlyArray<LaneId>
  ) {
    let found = yield* repo.claim(types, limit, among)
    if (Option.isNone(found)) {
      yield* mark.renew
      found = yield* repo.claim(types, limit, among)
    }
    return Option.getOrElse(found, () => []).map(({ epoch, stored }): HeldLane => ({
      hold: { laneId: stored.id, epoch },
      stored
    }))
  })

  const renew = (holds: ReadonlyArray<Hold>) => (holds.length === 0 ? Effect.succeed([]) : repo.renew(holds))

  const release = Effect.fn("LaneLedger.release")(function* (hold: Hold, reason: ReleaseReason) {
    const isReleased = yield* repo.release(hold, reason === "idle")
    const isGone = isReleased || !(yield* repo.isHeld(hold))
    if (isGone) memory.forget(hold.laneId)
    return isGone
  })

  const { lease, hasLanes, hasWork, news } = repo
  return { lease, claim, renew, release, hasLanes, hasWork, news }
})

export class LaneLedger extends Context.Service<
  LaneLedger,
  {
    /** A held lane that is not renewed for this long is free. */
    readonly lease: Duration.Duration
    /**
     * Claims free lanes with open transactions, on networks of these types: an older instance must not take the lanes of a
     * network that only a newer one sends for. The lane whose poll is most overdue is first. `among`: only these lanes.
     */
    claim(
      types: ReadonlyArray<string>,
      limit: number,
      among?: ReadonlyArray<LaneId>
    ): Effect.Effect<ReadonlyArray<HeldLane>>
    /** Extends the lease. Returns the lanes that are still held, among them those that are locked for longer than it waits. */
    renew(holds: ReadonlyArray<Hold>): Effect.Effect<ReadonlyArray<Hold>>
    /** False if an idle lane has an open transaction: it is still held. True if it is not held any more. */
    release(hold: Hold, reason: ReleaseReason): Effect.Effect<boolean>
    /** Whether any transaction was ever accepted. */
    readonly hasLanes: Effect.Effect<boolean>
    /** Whether lanes of these network types that no living process holds have open transactions. */
    hasWork(types: ReadonlyArray<string>): Effect.Effect<boolean>
    /** What callers have left for these lanes. Lanes with nothing pending, canceled or replaced are left out. */
    news(lanes: ReadonlyArray<LaneId>): Effect.Effect<ReadonlyMap<LaneId, LaneNews>>
    /** Runs `heard` whenever a caller of any instance has canceled or replaced something in flight. Never ends. */
    listen(heard: Effect.Effect<void>): Effect.Effect<void>
    /** Runs `hear` after this process has accepted transactions, until the scope closes. `hear` must not wait for anything. */
    hearAccepted(
      hear: (accepted: ReadonlyArray<AcceptedHere>) => Effect.Effect<void>
    ): Effect.Effect<void, never, Scope.Scope>

    /** Rows that did not change since the last read are not read again. `relayers`: those that are compared with their rows at the same moment. */
    read(hold: Hold, relayers?: ReadonlyArray<ReadRelayer>): Effect.Effect<LaneContents, LaneLost>
    /** Signed bytes, as they were stored before the first send. */
    bytes(attempts: ReadonlyArray<AttemptKey>): Effect.Effect<ReadonlyArray<AttemptBytes>>
    /** Those of the hashes that belong to attempts of any transaction of the lane. */
    own(hold: Hold, hashes: ReadonlyArray<string>): Effect.Effect<ReadonlySet<string>>
    /** Those of the hashes that belong to signatures that callers got: transactions with these hashes are not foreign. */
    given(hashes: ReadonlyArray<string>): Effect.Effect<ReadonlySet<string>>
    /** Signatures that callers got and that can land at `now`, at sequences of the first account that are not used yet. */
    givenPlaces(hold: Hold, now: Moment): Effect.Effect<ReadonlyArray<GivenPlace>>
    /** How the newest `last` prebuilt transactions of each key that landed on networks of the type ended. */
    landingsOf(keyIds: ReadonlyArray<string>, type: string, last: number): Effect.Effect<ReadonlyArray<KeyLandings>>
    /**
     * Addresses of relayers and of their lanes on networks of the type that have the letters of `part`, also of relayers that were deleted.
     * In memory, there are no relayers apart from their lanes.
     */
    addresses(type: NetworkType, part: AddressPart): Effect.Effect<ReadonlyArray<string>>
    /** Lanes with channels, on networks of the type. */
    lanesWithChannels(type: string): Effect.Effect<ReadonlyArray<LaneWithChannels>>
    /** The lane of the account with its channels, and whether a transaction that makes or ends channels is open. */
    channelsOf(account: Account): Effect.Effect<LaneChannels>
    /**
     * Stores new channels with their keys, and the transaction that makes or ends channels. Nothing happens if such a transaction
     * is open: then another process was first.
     */
    beginChannelWork(account: Account, work: ChannelWork): Effect.Effect<void>
    /** Transactions of the network type whose request pays for a restore, and whose restore has not begun. */
    waitingForRestore(
      type: string
    ): Effect.Effect<ReadonlyArray<{ readonly id: TransactionId; readonly relayer_number: number }>>
    /** Stores the restore for a waiting transaction, unless it exists already or the transaction does not wait any more. */
    beginRestore(chain: string, of: TransactionId, restore: Restore): Effect.Effect<void>
    /** The seed of a channel's key in hex. None: the seed is not stored, or it cannot be opened. */
    channelSeed(address: string): Effect.Effect<Option.Option<Redacted.Redacted>>
    /** Sequences of all transactions of the lane's first account from `from` on, final ones included, in its generation. */
    committedFrom(hold: Hold, from: bigint): Effect.Effect<ReadonlyArray<bigint>, LaneLost>
    /** Sequences of that account from `from` on that an attempt of a final transaction used on the chain. */
    minedFrom(hold: Hold, from: bigint): Effect.Effect<ReadonlyArray<bigint>, LaneLost>
    /** Final transactions of that account with a sequence from `from` on, for a reorganisation that is too deep. */
    finalFrom(hold: Hold, from: bigint): Effect.Effect<ReadonlyArray<StoredTransaction>, LaneLost>

    /**
     * Commits places and bytes together. Attempts of pending transactions have the sequences of their accounts from
     * `nextSequence` on, in this order. Broadcast after it, and only what it returns.
     */
    commitSignatures(
      hold: Hold,
      signatures: Arr.NonEmptyReadonlyArray<Signature>
    ): Effect.Effect<ReadonlyArray<StoredTransaction>, LaneLost | LaneChanged>
    /** Commits the transactions that fill gaps. They are shown as transactions of the relayer of `owner`. */
    commitGaps(
      hold: Hold,
      owner: StoredTransaction,
      gaps: Arr.NonEmptyReadonlyArray<GapSignature>
    ): Effect.Effect<ReadonlyArray<StoredTransaction>, LaneLost | LaneChanged>
    /** Records what nodes answered, also if the transaction was changed meanwhile. */
    recordSends(
      hold: Hold,
      sends: Arr.NonEmptyReadonlyArray<SentAttempt>
    ): Effect.Effect<ReadonlyArray<StoredTransaction>, LaneLost>
    /**
     * Applies commands that change the ledger. A transaction that was changed meanwhile is left as it is, and decided again at
     * the next poll. Returns the new states.
     */
    apply(
      hold: Hold,
      decided: Arr.NonEmptyReadonlyArray<Decided>
    ): Effect.Effect<ReadonlyArray<StoredTransaction>, LaneLost>
    /** Ends pending transactions of the lane whose deadline has passed. */
    expire(hold: Hold): Effect.Effect<ReadonlyArray<StoredTransaction>, LaneLost>
    /** Stores what a poll has found out about the lane, and returns the lane as it is stored now. Fails if it is not as the step read it. */
    saveLane(hold: Hold, state: LaneState): Effect.Effect<StoredLane, LaneLost | LaneChanged>
    /**
     * A transaction of the account that is in no attempt was found: marks the open requests that it could be. `foreign`: a shape
     * of the network of `chain`. Returns those that were marked.
     */
    markRestored(hold: Hold, chain: string, foreign: unknown): Effect.Effect<ReadonlyArray<StoredTransaction>, LaneLost>
    /** Reports that a reorganisation opened the places of final transactions again. */
    reportReorgedFinal(hold: Hold, transactions: ReadonlyArray<StoredTransaction>): Effect.Effect<void, LaneLost>
  }
>()("effect-relayer/server/ledger/LaneLedger") {
  /** @internal */
  static readonly layerNoDeps = Layer.effect(
    LaneLedger,
    Effect.gen(function* () {
      const memory = rememberedRows()
      const parts = { memory, fence: yield* makeLaneFence }
      const shared = yield* SharedWrites.make
      const { bytes, own } = yield* makeAttempts
      const { among: given, places } = yield* makeGivenSignatures
      const { addresses } = yield* makeLaneAccounts
      const { landingsOf } = yield* makeKeyLandings
      const holder = yield* Holder
      const sql = yield* client
      return LaneLedger.of({
        listen: (heard) => listen(sql, commandsChannel, heard),
        hearAccepted: holder.listen,
        bytes,
        own: ({ laneId }, hashes) => own(laneId, hashes),
        given,
        givenPlaces: ({ laneId }, now) => places(laneId, now),
        addresses,
        landingsOf,
        ...(yield* claimsOf(parts)),
        ...(yield* makeLaneChannels),
        ...(yield* makeLaneRestores),
        ...(yield* makeLaneReading(parts)),
        ...(yield* makeLaneCommits(parts, shared)),
        ...(yield* makeLaneRecords(parts, shared))
      })
    })
  )

  /** @internal */
  static readonly layer = this.layerNoDeps.pipe(Layer.provide([Events.layer, Outbox.layer]))

  /**
   * For tests: it behaves as the one on a database, on tables of `LedgerMemory`.
   *
   * @internal
   */
  static readonly layerMemory = Layer.effect(LaneLedger, Effect.map(MemoryLanes.make, LaneLedger.of))
}
