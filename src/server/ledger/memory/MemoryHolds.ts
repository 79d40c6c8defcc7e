// Claims on lanes in memory, and what their holder reads.
import { Clock, Duration, Effect } from "effect"
import { isFinal } from "../../../networks/core/Transaction.ts"
import type { Moment } from "../../../networks/core/TransactionValues.ts"
import { maxReopened } from "../Claims.ts"
import { Holder } from "../Holder.ts"
import { pendingLimit } from "../LaneContentsRepo.ts"
import { LaneLost } from "../LedgerEntries.ts"
import type {
  AttemptBytes,
  GivenPlace,
  HeldLane,
  Hold,
  LaneContents,
  LaneId,
  LaneNews,
  ReleaseReason
} from "../LedgerEntries.ts"
import type { KeyLandings } from "../RelayerTransactionsRepo.ts"
import { maxGivenPlaces } from "../SignaturesRepo.ts"
import type { AttemptKey } from "../SignaturesRepo.ts"
import { hasPlace, isOpen, LedgerMemory, typeOf } from "./LedgerMemory.ts"
import type { AccountRow, TransactionRow } from "./LedgerMemory.ts"

const turnOf = ({ stored: { transaction } }: TransactionRow): Moment =>
  Math.max(transaction.createdAt, transaction.notBefore ?? transaction.createdAt)

const compare = <A extends bigint | number>(one: A, other: A): number => (one < other ? -1 : one > other ? 1 : 0)

/** Those that require a sequence come in its order. */
const byPlace = (one: TransactionRow, other: TransactionRow): number => {
  const [first, second] = [one.stored.transaction, other.stored.transaction]
  return (
    compare(first.requiredSequence ?? 0n, second.requiredSequence ?? 0n) ||
    second.priority - first.priority ||
    turnOf(one) - turnOf(other) ||
    first.number - second.number
  )
}

/** At most `pendingLimit` of each relayer and kind. */
const readablePending = (pending: ReadonlyArray<TransactionRow>, now: Moment): ReadonlyArray<TransactionRow> => {
  const kindOf = ({ stored: { transaction } }: TransactionRow) => {
    const { relayerNumber, restored, requiredSequence, notBefore = now } = transaction
    return `${relayerNumber} ${restored} ${requiredSequence === undefined} ${notBefore > now}`
  }
  return [...Map.groupBy(pending, kindOf).values()].flatMap((kind) => kind.toSorted(byPlace).slice(0, pendingLimit))
}

/** Those without a sequence come last. */
const bySequence = (one: TransactionRow, other: TransactionRow): number => {
  const [first, second] = [one.stored.transaction.place?.sequence, other.stored.transaction.place?.sequence]
  if (first === undefined || second === undefined) return Number(first === undefined) - Number(second === undefined)
  return compare(first, second)
}

export const hashesOf = (some: ReadonlyArray<TransactionRow>) =>
  new Set(some.flatMap(({ stored }) => stored.transaction.attempts.map(({ hash }) => hash)))

export const sequencesOf = (some: ReadonlyArray<TransactionRow>) =>
  some.flatMap(({ stored }) => stored.transaction.place?.sequence ?? [])

/** Those of `some` that `all` has. */
const among = (some: ReadonlyArray<string>, all: ReadonlySet<string>): ReadonlySet<string> =>
  new Set(some.filter((one) => all.has(one)))

export const make = Effect.gen(function* () {
  const memory = yield* LedgerMemory
  const { id: me, listen: hearAccepted } = yield* Holder
  const { atomically, rows } = memory

  const lost = ({ laneId }: Hold) => new LaneLost({ laneId })
  const isMine = (row: AccountRow, epoch: number, now: Moment) =>
    row.epoch === epoch && row.holder?.id === me && row.holder.until > now
  const isFree = ({ holder }: AccountRow, now: Moment) =>
    holder === undefined || holder.until < now || !memory.living.has(holder.id)
  const hasOpen = ({ id }: AccountRow) => rows.of(id).some(isOpen)

  /** The lane, if this process holds it. */
  const held = Effect.fnUntraced(function* (hold: Hold) {
    const now = yield* Clock.currentTimeMillis
    const row = rows.tables().accounts.get(hold.laneId)
    return row !== undefined && isMine(row, hold.epoch, now) ? { row, now } : yield* lost(hold)
  })

  const setHolder = (row: AccountRow, now: Moment, epoch = row.epoch): AccountRow => {
    const renewed = { ...row, epoch, holder: { id: me, until: now + Duration.toMillis(memory.lease) } }
    rows.setAccount(renewed)
    return renewed
  }

  const isWaiting = (row: AccountRow, types: ReadonlyArray<string>, now: Moment) =>
    types.includes(typeOf(row.chain)) && isFree(row, now) && hasOpen(row)

  const claim = Effect.fn("LaneLedger.claim")(function* (
    types: ReadonlyArray<string>,
    limit: number,
    among?: ReadonlyArray<LaneId>
  ) {
    const now = yield* Clock.currentTimeMillis
    return rows
      .accounts()
      .filter((row) => isWaiting(row, types, now) && (among === undefined || among.includes(row.id)))
      .toSorted((one, other) => (among === undefined ? one.nextPollAt - other.nextPollAt : 0) || one.id - other.id)
      .slice(0, limit)
      .map((row): HeldLane => {
        const claimed = setHolder(row, now, row.epoch + 1)
        return { hold: { laneId: row.id, epoch: claimed.epoch }, stored: rows.laneOf(claimed, now) }
      })
  }, atomically)

  const renew = (holds: ReadonlyArray<Hold>) =>
    atomically(
      Effect.map(Clock.currentTimeMillis, (now) =>
        holds.filter(({ laneId, epoch }) => {
          const row = rows.tables().accounts.get(laneId)
          const isHeld = row !== undefined && isMine(row, epoch, now)
          if (isHeld) setHolder(row, now)
          return isHeld
        })
      )
    )

  const release = Effect.fn("LaneLedger.release")(function* ({ laneId, epoch }: Hold, reason: ReleaseReason) {
    const now = yield* Clock.currentTimeMillis
    const row = rows.tables().accounts.get(laneId)
    if (row === undefined || row.epoch !== epoch || row.holder?.id !== me) return true
    if (reason === "idle" && hasOpen(row)) return !isMine(row, epoch, now)
    rows.setAccount({ ...row, holder: undefined })
    return true
  }, atomically)

  const hasWork = (types: ReadonlyArray<string>) =>
    Effect.map(Clock.currentTimeMillis, (now) => rows.accounts().some((row) => isWaiting(row, types, now)))

  const newsOf = (lane: LaneId): ReadonlyArray<readonly [LaneId, LaneNews]> => {
    const open = rows.of(lane).map(({ stored }) => stored)
    const pending = open.filter(({ transaction }) => transaction.state === "pending")
    const commanded = open.filter(
      ({ transaction: { state, intent, versions } }) =>
        (state === "signed" || state === "submitted") && (intent === "cancel" || versions.length > 1)
    )
    if (pending.length === 0 && commanded.length === 0) return []
    const newest = Math.max(0, ...pending.map(({ transaction }) => transaction.number))
    const commands = commanded.map(
      ({ id, transaction }) => `${id} ${transaction.versions.length} ${transaction.intent}`
    )
    return [[lane, { newest, commands: new Set(commands) }]]
  }

  const listen = (heard: Effect.Effect<void>): Effect.Effect<never> =>
    Effect.scoped(
      Effect.acquireRelease(
        Effect.sync(() => memory.listeners.add(heard)),
        () => Effect.sync(() => memory.listeners.delete(heard))
      ).pipe(Effect.andThen(heard), Effect.andThen(Effect.never))
    )

  const read = Effect.fn("LaneLedger.read")(function* (hold: Hold) {
    const { row, now } = yield* held(hold)
    const all = rows.of(row.id)
    const pending = all.filter(({ stored }) => stored.transaction.state === "pending")
    const moments = pending.flatMap(({ stored: { transaction } }) => [
      ...(transaction.restored ? [] : [transaction.validUntil]),
      ...(transaction.notBefore !== undefined && transaction.notBefore > now ? [transaction.notBefore] : [])
    ])
    const contents: LaneContents = {
      stored: rows.laneOf(row, now),
      inFlight: all
        .filter(hasPlace)
        .toSorted(bySequence)
        .map(({ stored }) => stored),
      pending: readablePending(pending, now).map(({ stored }) => stored),
      pendingCount: pending.length,
      ...(moments.length === 0 ? {} : { nextMoment: Math.min(...moments) })
    }
    return contents
  })

  const bytes = (attempts: ReadonlyArray<AttemptKey>) =>
    Effect.sync(() =>
      attempts.flatMap(({ id, ordinal }): ReadonlyArray<AttemptBytes> => {
        const raw = rows.tables().transactions.get(id)?.bytes.get(ordinal)
        return raw === undefined ? [] : [{ id, ordinal, raw }]
      })
    )

  const own = ({ laneId }: Hold, hashes: ReadonlyArray<string>) =>
    Effect.sync(() => among(hashes, hashesOf(rows.of(laneId))))

  const given = (hashes: ReadonlyArray<string>) =>
    Effect.sync(() => among(hashes, new Set(rows.tables().given.map((row) => row.given.hash))))

  const placesOf = (lane: LaneId, now: Moment): ReadonlyArray<GivenPlace> => {
    const row = rows.tables().accounts.get(lane)
    if (row === undefined) return []
    return rows
      .givenOf(row)
      .filter(({ generation }) => generation === row.generation)
      .flatMap(({ given: { hash, sequence, end } }) =>
        sequence !== undefined && sequence >= row.account.settledSequence && "validUntil" in end && end.validUntil > now
          ? [{ hash, sequence, validUntil: end.validUntil }]
          : []
      )
      .toSorted((one, other) => compare(one.sequence, other.sequence))
      .slice(0, maxGivenPlaces)
  }

  const landedBy = (keyId: string, type: string, last: number): ReadonlyArray<KeyLandings> => {
    const newest = rows
      .all()
      .filter(
        ({ stored: { apiKeyId, chain, transaction }, identity, finalAt }) =>
          apiKeyId === keyId &&
          typeOf(chain) === type &&
          identity !== undefined &&
          finalAt !== undefined &&
          transaction.mined?.ordinal !== undefined
      )
      .toSorted((one, other) => (other.finalAt ?? 0) - (one.finalAt ?? 0))
      .slice(0, last)
    const failures = newest.filter(({ stored }) => stored.transaction.state === "failed")
    const failedAt = failures.map(({ finalAt = 0 }) => finalAt)
    const found: KeyLandings = { key_id: keyId, failed: failures.length }
    if (newest.length === 0) return []
    return [failures.length === 0 ? found : { ...found, failed_at: Math.max(...failedAt) }]
  }

  /** Transactions of the first account of a held lane from a sequence on, in its generation. */
  const from = Effect.fnUntraced(function* (hold: Hold, least: bigint) {
    const { row } = yield* held(hold)
    return rows
      .of(row.id)
      .filter(({ stored: { transaction } }) => {
        const { account, sequence = -1n } = transaction.place ?? {}
        return account === row.address && sequence >= least && transaction.generation === row.generation
      })
      .toSorted(bySequence)
  })

  const finalFrom = (hold: Hold, least: bigint) =>
    Effect.map(from(hold, least), (some) =>
      some
        .filter((row) => !isOpen(row))
        .slice(0, maxReopened)
        .map(({ stored }) => stored)
    )

  const claims = {
    lease: memory.lease,
    claim,
    renew,
    release,
    hasLanes: Effect.sync(() => rows.tables().accounts.size > 0),
    hasWork,
    news: (lanes: ReadonlyArray<LaneId>) => Effect.sync(() => new Map(lanes.flatMap(newsOf))),
    listen,
    hearAccepted
  }

  const reading = {
    read,
    bytes,
    own,
    given,
    givenPlaces: ({ laneId }: Pick<Hold, "laneId">, now: Moment) => Effect.sync(() => placesOf(laneId, now)),
    landingsOf: (keyIds: ReadonlyArray<string>, type: string, last: number) =>
      Effect.sync(() => keyIds.flatMap((id) => landedBy(id, type, last))),
    committedFrom: (hold: Hold, least: bigint) => Effect.map(from(hold, least), sequencesOf),
    minedFrom: (hold: Hold, least: bigint) =>
      Effect.map(from(hold, least), (some) =>
        sequencesOf(
          some.filter(({ stored: { transaction } }) => {
            const isUsed = transaction.mined?.ordinal !== undefined || transaction.origin === "authorization"
            return isFinal(transaction) && isUsed
          })
        )
      ),
    finalFrom
  }

  return { claims, reading, held: { held, from } }
})

/** What writes of the holder need: the lane if it is held, and its transactions from a sequence on. */
export type Held = Effect.Success<typeof make>["held"]
