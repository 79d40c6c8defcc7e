// The ledger for the holders of lanes, in memory: on the same pure rules as the one on a database. It has channels and restores here.
import { Array, Clock, Effect, Option } from "effect"
import type { Redacted } from "effect"
import { cause } from "../../../networks/core/Cause.ts"
import { newestRequest } from "../../../networks/core/Transaction.ts"
import type { LaneAccount, Transaction } from "../../../networks/core/Transaction.ts"
import { maxValidity } from "../../../networks/core/TransactionValues.ts"
import type { Moment, TransactionId } from "../../../networks/core/TransactionValues.ts"
import { apply as applyTo, asRestored, suspects, withAttempt } from "../../../networks/core/Transition.ts"
import type { AddressPart } from "../../../sql/Rows.ts"
import { feePeriod, spendingsOf } from "../AcceptanceChecks.ts"
import { maxBegunRestores } from "../LaneChannels.ts"
import type { ChannelWork, LaneChannels, LaneWithChannels, Restore } from "../LaneChannels.ts"
import { overdueLimit } from "../LaneContentsRepo.ts"
import { assignmentsOf, changesOf, expiredOf, freedBy, sentChanges } from "../LaneWrites.ts"
import type { CounterMove } from "../LanesRepo.ts"
import { LaneChanged } from "../LedgerEntries.ts"
import type {
  Account,
  Decided,
  GapSignature,
  Hold,
  LaneId,
  LaneState,
  SentAttempt,
  Signature,
  StoredTransaction
} from "../LedgerEntries.ts"
import { SignatureTaken } from "../SignaturesRepo.ts"
import { feesSince, hasPlace, isOpen, LedgerMemory, typeOf } from "./LedgerMemory.ts"
import type { AccountRow, TransactionRow } from "./LedgerMemory.ts"
import * as MemoryHolds from "./MemoryHolds.ts"
import { hashesOf, sequencesOf } from "./MemoryHolds.ts"
import type { Held } from "./MemoryHolds.ts"

// Writes of the holder of a lane, in memory: each is fenced by the hold, and happens as a whole or not at all.

/** Signatures of chains on which bytes have no sequence: each is stored once. */
const isUnique = (hash: string): boolean => hash.length > "0x".length + 64

const changed = ({ laneId }: Hold) => new LaneChanged({ laneId })

const areSame = (one: ReadonlySet<string>, other: ReadonlySet<string>): boolean =>
  one.size === other.size && [...one].every((name) => other.has(name))

const makeMemoryCommits = Effect.fnUntraced(function* ({ held, from }: Held) {
  const { atomically, rows } = yield* LedgerMemory

  /** Sets the counters of accounts of the lane that are as expected. False if one of them has another value. */
  const moveAll = (lane: LaneId, moves: ReadonlyArray<CounterMove>): boolean =>
    moves
      .map(({ account: address, from: former, next, isProven }) => {
        const row = rows.accounts().find((one) => (one.parent ?? one.id) === lane && one.address === address)
        if (row === undefined || row.account.nextSequence !== former) return false
        const proven = isProven ? { chainSequence: next, settledSequence: next } : {}
        rows.setAccount({ ...row, account: { ...row.account, nextSequence: next, ...proven } })
        return true
      })
      .every(Boolean)

  /** Since the decision, another lane or an acceptance may have used the rest of the limits. */
  const isWithinLimits = (signatures: ReadonlyArray<Signature>, now: Moment): boolean =>
    spendingsOf(signatures, now).every(
      ({ maximum, more, ...limit }) => feesSince(rows.tables(), limit, now - feePeriod) + more <= maximum
    )

  /** A caller got the same signature for another request. */
  const isGiven = ({ stored, attempt }: Signature): boolean =>
    rows.rules.of(stored.chain).rules.repeated !== undefined &&
    rows
      .tables()
      .given.some(
        (row) =>
          row.given.hash === attempt.hash && row.given.identity !== rows.tables().transactions.get(stored.id)?.identity
      )

  const isStored = (signatures: ReadonlyArray<Signature>): boolean => {
    const known = hashesOf(rows.all())
    return signatures.some(({ attempt }) => isUnique(attempt.hash) && known.has(attempt.hash))
  }

  /** The row that explains the second sequence of a signature. */
  const explain = (row: AccountRow, { stored, attempt, next }: Signature, now: Moment) => {
    if (next === undefined) return []
    const account: Account = {
      relayerId: stored.relayerId,
      relayerNumber: stored.transaction.relayerNumber,
      chain: row.chain,
      address: row.address,
      window: row.windowSize
    }
    const { account: place, sequence = 0n } = attempt.place
    const own = { ...next, account, validUntil: now + maxValidity, priority: 0 }
    const after = (fresh: Transaction): Transaction => ({
      ...fresh,
      intent: "clear",
      clearCode: "gap_filled",
      state: "submitted",
      cause: cause("waits_for_predecessors"),
      generation: attempt.generation,
      place: { account: place, sequence: sequence + 1n }
    })
    return [rows.insertOwn(row, own, now, { after, bytes: new Map() })]
  }

  const commitNew = Effect.fnUntraced(function* (hold: Hold, signatures: ReadonlyArray<Signature>) {
    const { row, now } = yield* held(hold)
    const assignments = assignmentsOf(signatures)
    if (assignments !== undefined && assignments.generation !== row.generation && assignments.own !== undefined)
      return yield* changed(hold)
    const given = [assignments?.own ?? [], assignments?.channels ?? []].flat()
    const moves = given.map(({ account, from, count }) => ({ account, from, next: from + count, isProven: false }))
    if (!moveAll(row.id, moves) || !isWithinLimits(signatures, now)) return yield* changed(hold)
    if (isStored(signatures)) return yield* new SignatureTaken()
    const changes = signatures
      .filter((signature) => !isGiven(signature))
      .map(({ stored, attempt, cause }) => ({
        before: stored,
        after: withAttempt(stored.transaction, attempt, cause, now)
      }))
    const written = rows.writeChanges(
      changes,
      now,
      signatures.map(({ stored: { id }, attempt: { ordinal }, raw }) => ({ id, ordinal, raw }))
    )
    if (written.length < signatures.length) return yield* changed(hold)
    return [...written, ...signatures.flatMap((signature) => explain(row, signature, now))]
  })

  /** The bytes of one of them are those of another transaction: it ends if they cannot be varied. */
  const refuseRepeated = Effect.fnUntraced(function* (hold: Hold, signatures: ReadonlyArray<Signature>) {
    const { row, now } = yield* held(hold)
    const known = hashesOf(rows.of(row.id))
    rows.writeChanges(
      signatures.flatMap(({ stored, attempt }) => {
        const { repeated } = rows.rules.of(stored.chain).rules
        const end = known.has(attempt.hash) ? repeated?.(stored.transaction) : undefined
        return end === undefined ? [] : [{ before: stored, after: applyTo(stored.transaction, end, now) }]
      }),
      now
    )
  }, atomically)

  const commitSignatures = Effect.fn("LaneLedger.commitSignatures")(function* (
    hold: Hold,
    signatures: Array.NonEmptyReadonlyArray<Signature>
  ) {
    const refused = Effect.andThen(refuseRepeated(hold, signatures), Effect.fail(changed(hold)))
    return yield* Effect.catchTag(atomically(commitNew(hold, signatures)), "SignatureTaken", () => refused)
  })

  const commitGaps = Effect.fn("LaneLedger.commitGaps")(function* (
    hold: Hold,
    owner: StoredTransaction,
    gaps: Array.NonEmptyReadonlyArray<GapSignature>
  ) {
    const { row, now } = yield* held(hold)
    const used = new Set(sequencesOf(yield* from(hold, 0n)))
    const account: Account = {
      relayerId: owner.relayerId,
      relayerNumber: owner.transaction.relayerNumber,
      chain: row.chain,
      address: row.address,
      window: row.windowSize
    }
    const written: Array<StoredTransaction> = []
    for (const { id, request, attempt, raw, cause: why } of gaps) {
      const { sequence = 0n } = attempt.place
      if (used.has(sequence)) return yield* changed(hold)
      used.add(sequence)
      const gap = { id, account, origin: "gap", request, validUntil: now + maxValidity, priority: 0 }
      const after = (fresh: Transaction) =>
        withAttempt(
          { ...fresh, intent: "clear", clearCode: "gap_filled" },
          attempt,
          { code: why.code, figures: {} },
          now
        )
      written.push(rows.insertOwn(row, gap, now, { after, bytes: new Map([[attempt.ordinal, raw]]) }))
    }
    return written
  }, atomically)

  const recordSends = Effect.fn("LaneLedger.recordSends")(function* (
    hold: Hold,
    sends: Array.NonEmptyReadonlyArray<SentAttempt>
  ) {
    const { row, now } = yield* held(hold)
    const present = new Map(rows.of(row.id).map(({ stored }) => [stored.id, stored]))
    return rows.writeChanges(sentChanges(present, sends), now)
  }, atomically)

  const apply = Effect.fn("LaneLedger.apply")(function* (hold: Hold, decided: Array.NonEmptyReadonlyArray<Decided>) {
    const changes = changesOf(decided, yield* Clock.currentTimeMillis)
    if (changes.length === 0) return []
    const { row, now } = yield* held(hold)
    const written = rows.writeChanges(changes, now)
    // A row that was changed meanwhile keeps its place.
    const ids = new Set(written.map(({ id }) => id))
    moveAll(row.id, decided.filter(({ stored }) => ids.has(stored.id)).flatMap(freedBy))
    return written
  }, atomically)

  const expire = Effect.fn("LaneLedger.expire")(function* (hold: Hold) {
    const at = yield* Clock.currentTimeMillis
    const overdue = rows
      .of(hold.laneId)
      .filter(({ stored: { transaction } }) => {
        const { state, restored, validUntil } = transaction
        return state === "pending" && !restored && validUntil <= at
      })
      .slice(0, overdueLimit)
    if (overdue.length === 0) return []
    const { now } = yield* held(hold)
    const expired = expiredOf(
      rows.rules,
      overdue.map(({ stored }) => stored)
    )
    return rows.writeChanges(changesOf(expired, now), now)
  }, atomically)

  const isSameOwn = (row: AccountRow, { read, lane }: LaneState): boolean => {
    const [{ nextSequence, chainSequence, settledSequence }] = read.lane.accounts
    return (
      row.generation === lane.generation &&
      row.nextPollAt === read.nextPollAt &&
      row.account.nextSequence === nextSequence &&
      row.account.chainSequence === chainSequence &&
      row.account.settledSequence === settledSequence
    )
  }

  /** Whether these are the further accounts of the lane, with these next sequences. */
  const areChannels = (lane: LaneId, channels: ReadonlyArray<LaneAccount>): boolean => {
    const namesOf = (accounts: ReadonlyArray<LaneAccount>) =>
      new Set(accounts.map(({ address, nextSequence }) => `${address} ${nextSequence}`))
    const stored = rows.channelsOf(lane).map(({ account }) => account)
    return areSame(namesOf(stored), namesOf(channels))
  }

  /** Adopts those that are new. Undefined: the account belongs to another lane. */
  const saveChannel = (lane: AccountRow, account: LaneAccount): LaneAccount | undefined => {
    const key = { chain: lane.chain, address: account.address }
    const row = rows.find(key) ?? rows.insertAccount(key, 1, { parent: lane.id })
    if (row.parent !== lane.id) return undefined
    rows.setAccount({ ...row, account: rows.accountAsStored(lane.chain, account), isReleased: false })
    return account
  }

  /** Accounts with an open transaction stay. */
  const releaseChannels = (lane: LaneId, addresses: ReadonlyArray<string>): void => {
    const used = new Set(
      rows.of(lane).flatMap((row) => (isOpen(row) ? (row.stored.transaction.place?.account ?? []) : []))
    )
    for (const row of rows.channelsOf(lane)) {
      if (addresses.includes(row.address) && !used.has(row.address)) rows.setAccount({ ...row, isReleased: true })
    }
  }

  const saveLane = Effect.fn("LaneLedger.saveLane")(function* (hold: Hold, state: LaneState) {
    const { row, now } = yield* held(hold)
    const { lane, read, code, released = [] } = state
    const [account, ...channels] = lane.accounts
    const [, ...former] = read.lane.accounts
    if (!isSameOwn(row, state)) return yield* changed(hold)
    const saved: AccountRow = {
      ...row,
      account: rows.accountAsStored(row.chain, account),
      windowSize: lane.windowSize,
      genesis: state.genesis,
      trustsCount: row.trustsCount && !state.usedTrust,
      nextPollAt: state.nextPollAt,
      code,
      codeSince: code === row.code ? row.codeSince : code === undefined ? undefined : now
    }
    rows.setAccount(saved)
    if (former.length === 0 && channels.length === 0 && released.length === 0) return rows.laneOf(saved, now)
    if (!areChannels(row.id, former)) return yield* changed(hold)
    const adopted = channels.flatMap((channel) => saveChannel(row, channel) ?? [])
    releaseChannels(row.id, released)
    return { ...rows.laneOf(saved, now), lane: { ...lane, accounts: Array.prepend(adopted, account) } }
  }, atomically)

  const markRestored = Effect.fn("LaneLedger.markRestored")(function* (hold: Hold, chain: string, foreign: unknown) {
    const { row, now } = yield* held(hold)
    const open = rows.of(row.id).filter(isOpen)
    const suspected = new Set(
      suspects(
        rows.rules.of(chain).rules,
        open.map(({ stored }) => stored.transaction),
        foreign
      )
    )
    const found = open.flatMap(({ stored }) => (suspected.has(stored.transaction) ? [stored] : []))
    return rows.writeChanges(
      found.map((before) => ({ before, after: asRestored(before.transaction, now) })),
      now
    )
  }, atomically)

  const reportReorgedFinal = Effect.fn("LaneLedger.reportReorgedFinal")(function* (
    hold: Hold,
    reorged: ReadonlyArray<StoredTransaction>
  ) {
    yield* held(hold)
    rows.publish(reorged.map((stored) => ({ type: "transaction.reorged_final" as const, stored })))
  }, atomically)

  return {
    commitSignatures,
    commitGaps,
    recordSends,
    apply,
    expire,
    saveLane,
    markRestored,
    reportReorgedFinal
  }
})

export const make = Effect.gen(function* () {
  const { atomically, rows } = yield* LedgerMemory
  const { claims, reading, held } = yield* MemoryHolds.make

  const addresses = (type: string, { from, length, texts }: AddressPart) =>
    Effect.sync(() =>
      rows
        .accounts()
        .filter(({ chain, address }) => typeOf(chain) === type && texts.includes(address.slice(from, from + length)))
        .map(({ address }) => address)
    )

  /** Counters that the network stores of an account, as JSON. */
  const countersOf = ({ chain, account: { counters } }: AccountRow): { readonly stage?: unknown } =>
    counters === undefined ? {} : JSON.parse(rows.rules.of(chain).counters.text(counters))

  const lanesWithChannels = (type: string) =>
    Effect.sync(() =>
      rows.accounts().flatMap((row): ReadonlyArray<LaneWithChannels> => {
        const channels = typeOf(row.chain) === type ? rows.channelsOf(row.id) : []
        if (channels.length === 0) return []
        const used = rows.of(row.id).filter((one) => {
          const { account = row.address, sequence } = one.stored.transaction.place ?? {}
          return hasPlace(one) && account !== row.address && sequence !== undefined
        })
        const unready = channels.filter((channel) => countersOf(channel).stage !== "ready")
        const { chain, address } = row
        return [{ chain, address, count: channels.length, unready: unready.length, used: used.length }]
      })
    )

  const channelStateOf = (row: AccountRow | undefined, now: Moment): LaneChannels => {
    if (row === undefined) return { lane: Option.none(), isWorking: false }
    const works = rows.of(row.id).filter(({ stored }) => stored.transaction.origin === "channel")
    const failedAt = works.flatMap(({ stored, finalAt }) =>
      stored.transaction.state === "failed" ? (finalAt ?? []) : []
    )
    return {
      lane: Option.some(rows.laneOf(row, now)),
      isWorking: works.some(isOpen),
      ...(failedAt.length === 0 ? {} : { failedAt: Math.max(...failedAt) })
    }
  }

  const channelsOf = (account: Account) =>
    Effect.map(Clock.currentTimeMillis, (now) => channelStateOf(rows.find(account), now))

  const beginChannelWork = Effect.fn("LaneLedger.beginChannelWork")(function* (
    account: Account,
    { channels, counters, ...work }: ChannelWork
  ) {
    const now = yield* Clock.currentTimeMillis
    const lane = rows.ensure(account)
    if (channelStateOf(lane, now).isWorking) return
    for (const { address, seed } of channels) {
      const row = rows.insertAccount({ chain: lane.chain, address }, 1, { parent: lane.id })
      rows.setAccount({ ...row, account: rows.accountAsStored(lane.chain, { ...row.account, counters }) })
      rows.setTables({ seeds: new Map([...rows.tables().seeds, [address, seed]]) })
    }
    rows.insertOwn(lane, { ...work, account, origin: "channel" }, now)
  }, atomically)

  const channelSeed = (address: string): Effect.Effect<Option.Option<Redacted.Redacted>> =>
    Effect.sync(() => Option.fromUndefinedOr(rows.tables().seeds.get(address)))

  /** The transaction that a restore is for. */
  const restoredBy = ({ stored: { chain, transaction } }: TransactionRow): unknown => {
    if (transaction.origin !== "restore") return undefined
    const request = JSON.parse(rows.rules.of(chain).request.text(newestRequest(transaction)))
    return request?.restore?.for
  }

  /** Whether a request pays for a restore that has not begun. A failed restore counts as begun: its fee is lost. */
  const waitsForRestore = ({ stored: { id, laneId, transaction } }: TransactionRow): boolean =>
    transaction.state === "pending" &&
    transaction.cause?.code === "needs_restore" &&
    transaction.cause.figures.fee !== undefined &&
    !rows.of(laneId).some((row) => restoredBy(row) === id && (isOpen(row) || row.stored.transaction.state === "failed"))

  const waitingForRestore = (type: string) =>
    Effect.sync(() =>
      rows
        .all()
        .filter((row) => typeOf(row.stored.chain) === type && waitsForRestore(row))
        .slice(0, maxBegunRestores)
        .map(({ stored: { id, transaction } }) => ({ id, relayer_number: transaction.relayerNumber }))
    )

  const beginRestore = Effect.fn("LaneLedger.beginRestore")(function* (
    _chain: string,
    of: TransactionId,
    restore: Restore
  ) {
    const now = yield* Clock.currentTimeMillis
    const row = rows.tables().transactions.get(of)
    if (row === undefined || !waitsForRestore(row)) return
    const { relayerId, chain, from: address, laneId, apiKeyId, transaction } = row.stored
    const lane = rows.tables().accounts.get(laneId)
    if (lane === undefined) return
    const { relayerNumber } = transaction
    const account: Account = { relayerId, relayerNumber, chain, address, window: lane.windowSize }
    rows.insertOwn(lane, { ...restore, account, origin: "restore", priority: 1, apiKeyId }, now)
  }, atomically)

  return {
    ...claims,
    ...reading,
    ...(yield* makeMemoryCommits(held)),
    addresses,
    lanesWithChannels,
    channelsOf,
    beginChannelWork,
    waitingForRestore,
    beginRestore,
    channelSeed
  }
})
