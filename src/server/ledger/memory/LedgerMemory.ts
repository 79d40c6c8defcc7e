// The tables of a ledger in memory, for tests. Ledgers on the same tables are to each other like processes on one database.
import { Clock, Context, Duration, Effect, Exit, Layer, Schema, Semaphore } from "effect"
import type { Redacted } from "effect"
import { Figures } from "../../../networks/core/Cause.ts"
import type { Code } from "../../../networks/core/Cause.ts"
import { present } from "../../../networks/core/Presentation.ts"
import type { LaneKey } from "../../../networks/core/Rules.ts"
import { beginning, isFinal } from "../../../networks/core/Transaction.ts"
import type { Attempt, LaneAccount, Mined, Transaction } from "../../../networks/core/Transaction.ts"
import type { Moment, TransactionId } from "../../../networks/core/TransactionValues.ts"
import { asRestored, eventsOf, isMarkedAnew } from "../../../networks/core/Transition.ts"
import type { TransactionEventType } from "../../../networks/core/Transition.ts"
import type { LimitKey } from "../AcceptanceChecks.ts"
import { defaultLease, LaneId, LedgerRules } from "../LedgerEntries.ts"
import type { Account, GivenSignature, LedgerNetwork, StoredLane, StoredTransaction } from "../LedgerEntries.ts"
import { storedAfter } from "../TransactionWrites.ts"
import type { Change } from "../TransactionWrites.ts"

/** An account that a lane signs with. */
export interface AccountRow extends LaneKey {
  readonly id: LaneId
  /** The lane of another account that this one belongs to. Undefined: it is the first account of its own lane. */
  readonly parent: LaneId | undefined
  readonly account: LaneAccount
  readonly generation: number
  readonly windowSize: number
  readonly genesis: string | undefined
  readonly trustsCount: boolean
  readonly code: Code | undefined
  readonly codeSince: Moment | undefined
  readonly nextPollAt: Moment
  readonly epoch: number
  readonly holder: { readonly id: string; readonly until: Moment } | undefined
  readonly isReleased: boolean
}

export interface TransactionRow {
  readonly stored: StoredTransaction
  /** Undefined: no caller sent it. */
  readonly bodyHash: string | undefined
  readonly identity: string | undefined
  readonly exclusive: string | undefined
  /** Undefined: it is open. */
  readonly finalAt: Moment | undefined
  /** By ordinal. */
  readonly bytes: ReadonlyMap<number, Uint8Array>
}

/** A signature that a caller got. */
interface GivenRow extends LaneKey {
  readonly relayerNumber: number
  readonly keyId: string
  readonly generation: number
  readonly createdAt: Moment
  readonly given: GivenSignature
}

/** What a ledger on a database would publish as an event. */
export interface Published {
  readonly type: TransactionEventType
  readonly id: TransactionId
}

/** All tables. A write replaces them, so a copy is a reference. */
export interface Tables {
  readonly accounts: ReadonlyMap<LaneId, AccountRow>
  /** In the order of their numbers. */
  readonly transactions: ReadonlyMap<TransactionId, TransactionRow>
  readonly given: ReadonlyArray<GivenRow>
  /** Seeds of the keys of channels, by address. */
  readonly seeds: ReadonlyMap<string, Redacted.Redacted>
  readonly events: ReadonlyArray<Published>
}

const empty: Tables = { accounts: new Map(), transactions: new Map(), given: [], seeds: new Map(), events: [] }

export interface Options {
  /** Time after which another process may claim a lane that was not renewed. Absent: 30 seconds, as on a database. */
  readonly lease?: Duration.Input
}

/** A signature that a write adds. */
interface SignedBytes {
  readonly id: TransactionId
  readonly ordinal: number
  readonly raw: Uint8Array
}

const encodeFigures = Schema.encodeSync(Figures)
const decodeFigures = Schema.decodeUnknownSync(Figures)

interface Codec<A> {
  decode(json: unknown): A
  text(value: A): string
}

/** A value as a database would give it back. */
export const kept = <A>(codec: Codec<A>, value: A): A => codec.decode(JSON.parse(codec.text(value)))

const attemptAsStored = ({ rules, offer, refusal }: LedgerNetwork, attempt: Attempt): Attempt => {
  const stored = kept(offer, attempt.offer)
  return {
    ...attempt,
    offer: stored,
    maxFee: rules.maxFeeOf(stored),
    ...(attempt.refusal === undefined ? {} : { refusal: kept(refusal, attempt.refusal) })
  }
}

const minedAsStored = ({ receipt }: LedgerNetwork, mined: Mined): Mined => ({
  ...mined,
  receipt: kept(receipt, mined.receipt)
})

/** A transaction as the next reader finds it. What the network has the codecs for has passed them, if it is new. */
const asStored = (network: LedgerNetwork, before: Transaction, after: Transaction): Transaction => ({
  ...after,
  // A change of a transaction never writes these.
  versions: before.versions,
  facts: before.facts,
  validUntil: before.validUntil,
  attempts: after.attempts.map((attempt) =>
    before.attempts.includes(attempt) ? attempt : attemptAsStored(network, attempt)
  ),
  ...(after.cause === undefined || after.cause === before.cause
    ? {}
    : { cause: { code: after.cause.code, figures: decodeFigures(encodeFigures(after.cause.figures)) } }),
  ...(after.mined === undefined || after.mined === before.mined ? {} : { mined: minedAsStored(network, after.mined) })
})

/** Identifies the place of a transaction in its lane. Undefined: it has none. */
const placeOf = ({ laneId, transaction: { place, generation } }: StoredTransaction): string | undefined =>
  place?.sequence === undefined ? undefined : `${laneId} ${place.account} ${generation} ${place.sequence}`

/** A transaction that the service makes itself. */
interface NewRow {
  readonly id: TransactionId
  readonly account: Account
  readonly origin: string
  readonly request: unknown
  readonly validUntil: Moment
  readonly priority: number
  readonly apiKeyId?: string | undefined
}

interface SignedRow {
  readonly after: (fresh: Transaction) => Transaction
  readonly bytes: ReadonlyMap<number, Uint8Array>
}

/** Nothing that identifies a request. */
const ownRow = {
  bodyHash: undefined,
  identity: undefined,
  exclusive: undefined,
  finalAt: undefined,
  bytes: new Map<number, Uint8Array>()
}

/** The network type of a chain, such as `evm`. */
export const typeOf = (chain: string): string => chain.split(":", 1)[0] ?? chain

/**
 * What transactions of the key on networks of the type can cost, or have cost if they became final after `since`, and what
 * signatures that were given since then can cost. A ledger in memory knows no keys that others have derived.
 */
export const feesSince = ({ transactions, given }: Tables, { keyId, networkType }: LimitKey, since: Moment): bigint => {
  const sent = [...transactions.values()].flatMap(({ stored, finalAt = Infinity }) =>
    stored.apiKeyId === keyId && typeOf(stored.chain) === networkType && finalAt > since ? (stored.fee ?? []) : []
  )
  const signed = given.flatMap(({ chain, keyId: key, createdAt, given: { fee } }) =>
    key === keyId && typeOf(chain) === networkType && createdAt > since ? fee : []
  )
  return [...sent, ...signed].reduce((sum, fee) => sum + fee, 0n)
}

export const isOpen = ({ stored }: TransactionRow): boolean => !isFinal(stored.transaction)

/** Whether it has a place and is not final. */
export const hasPlace = ({ stored: { transaction } }: TransactionRow): boolean =>
  !isFinal(transaction) && transaction.state !== "pending"

const make = (rules: LedgerRules["Service"], startedAt: Moment) => {
  let tables = empty
  const all = () => [...tables.transactions.values()]

  const setTables = (changed: Partial<Tables>): void => {
    tables = { ...tables, ...changed }
  }

  const setAccount = (row: AccountRow): void => setTables({ accounts: new Map([...tables.accounts, [row.id, row]]) })

  /** Fails as the unique index of a database does if two transactions would have the same place. */
  const setTransactions = (rows: ReadonlyArray<TransactionRow>): void => {
    const transactions = new Map([...tables.transactions, ...rows.map((row) => [row.stored.id, row] as const)])
    const places = [...transactions.values()].flatMap(({ stored }) => placeOf(stored) ?? [])
    if (new Set(places).size < places.length) throw new Error("a place has two transactions")
    setTables({ transactions })
  }

  const setTransaction = (row: TransactionRow): void => setTransactions([row])

  const accounts = () => [...tables.accounts.values()]
  const find = ({ chain, address }: LaneKey) => accounts().find((row) => row.chain === chain && row.address === address)
  /** The further accounts of a lane that are not released. */
  const channelsOf = (lane: LaneId) => accounts().filter(({ parent, isReleased }) => parent === lane && !isReleased)
  const of = (lane: LaneId) => all().filter(({ stored }) => stored.laneId === lane)

  const insertAccount = (key: LaneKey, windowSize: number, more: Partial<AccountRow> = {}): AccountRow => {
    const row: AccountRow = {
      id: LaneId.make(tables.accounts.size + 1),
      chain: key.chain,
      address: key.address,
      parent: undefined,
      account: { address: key.address, nextSequence: 0n, chainSequence: 0n, settledSequence: 0n },
      generation: 0,
      windowSize,
      genesis: undefined,
      trustsCount: false,
      code: undefined,
      codeSince: undefined,
      nextPollAt: startedAt,
      epoch: 0,
      holder: undefined,
      isReleased: false,
      ...more
    }
    setAccount(row)
    return row
  }

  const ensure = (account: Account): AccountRow => find(account) ?? insertAccount(account, account.window)

  const givenOf = ({ chain, address }: LaneKey) =>
    tables.given.filter((row) => row.chain === chain && row.address === address)

  /** What signatures that were given can take from the balance. Undefined: none can land any more. */
  const givenCost = (row: AccountRow, now: Moment, height = 0): bigint | undefined => {
    const passed = Math.max(row.account.chainBlock?.number ?? 0, height)
    const alive = givenOf(row).filter(({ given: { end } }) =>
      "validUntil" in end ? end.validUntil > now : end.lastHeight >= passed
    )
    return alive.length === 0
      ? undefined
      : alive.reduce((sum, { given: { fee, outflow = 0n } }) => sum + fee + outflow, 0n)
  }

  const laneOf = (row: AccountRow, now: Moment): StoredLane => ({
    id: row.id,
    chain: row.chain,
    trustsCount: row.trustsCount,
    nextPollAt: row.nextPollAt,
    databaseStartedAt: startedAt,
    isHeld: row.holder !== undefined && row.holder.until > now,
    lane: {
      generation: row.generation,
      windowSize: row.windowSize,
      accounts: [row.account, ...channelsOf(row.id).map(({ account }) => account)]
    },
    ...present("givenCost", givenCost(row, now)),
    ...present("genesis", row.genesis),
    ...present("code", row.code),
    ...present("codeSince", row.codeSince)
  })

  /** As a table keeps it. */
  const accountAsStored = (chain: string, { counters, ...account }: LaneAccount): LaneAccount => ({
    ...account,
    ...(counters === undefined ? {} : { counters: kept(rules.of(chain).counters, counters) })
  })

  const publish = (
    events: ReadonlyArray<{ readonly type: TransactionEventType; readonly stored: StoredTransaction }>
  ) =>
    setTables({
      events: [
        ...tables.events,
        ...events.flatMap(({ type, stored }) =>
          stored.transaction.origin === "request" ? [{ type, id: stored.id }] : []
        )
      ]
    })

  /** Without an effect, the same bytes may come again. A row of an older generation can have the bytes of one of its new generation. */
  const identityAfter = (row: TransactionRow, after: Transaction): string | undefined => {
    const { identity } = row
    if (identity === undefined || (isFinal(after) && after.mined === undefined)) return undefined
    const isRival = ({ stored, identity: other }: TransactionRow) =>
      other === identity && stored.transaction.generation === after.generation
    return row.stored.transaction.generation !== after.generation && all().some(isRival) ? undefined : identity
  }

  const write = (
    row: TransactionRow,
    change: Change,
    now: Moment,
    signed: ReadonlyArray<SignedBytes>
  ): TransactionRow => {
    const network = rules.of(row.stored.chain)
    const stored = storedAfter({ before: row.stored, after: change.after }, now)
    const transaction = asStored(network, row.stored.transaction, stored.transaction)
    const added = signed.flatMap(({ id, ordinal, raw }) => (id === row.stored.id ? [[ordinal, raw] as const] : []))
    return {
      ...row,
      stored: { ...stored, transaction },
      identity: identityAfter(row, transaction),
      finalAt: row.finalAt ?? (isFinal(transaction) ? now : undefined),
      bytes: new Map([...row.bytes, ...added])
    }
  }

  /** Writes and returns those whose rows are as they were read. The others were changed meanwhile, and are left as they are. */
  const writeChanges = (changes: ReadonlyArray<Change>, now: Moment, signed: ReadonlyArray<SignedBytes> = []) => {
    const written = changes.flatMap((change) => {
      const row = tables.transactions.get(change.before.id)
      if (row === undefined || row.stored.version !== change.before.version) return []
      return [{ before: row.stored.transaction, row: write(row, change, now, signed) }]
    })
    setTransactions(written.map(({ row }) => row))
    publish(
      written.flatMap(({ before, row: { stored } }) =>
        eventsOf(before, stored.transaction).map((type) => ({ type, stored }))
      )
    )
    return written.map(({ row }) => row.stored)
  }

  /** A transaction that the service makes itself. `signed`: what its first attempt makes of it, and the bytes of the attempt. */
  const insertOwn = (lane: AccountRow, row: NewRow, now: Moment, signed?: SignedRow): StoredTransaction => {
    const network = rules.of(lane.chain)
    const { id, account, origin, request, validUntil, priority, apiKeyId } = row
    const fresh: Transaction = beginning(
      {
        number: tables.transactions.size + 1,
        relayerNumber: account.relayerNumber,
        origin,
        generation: lane.generation,
        versions: [kept(network.request, request)],
        facts: network.facts.decode({}),
        priority,
        validUntil
      },
      now
    )
    const stored: StoredTransaction = {
      id,
      version: 1,
      laneId: lane.id,
      relayerId: account.relayerId,
      chain: lane.chain,
      from: lane.address,
      ...present("apiKeyId", apiKeyId),
      transaction: signed === undefined ? fresh : asStored(network, fresh, signed.after(fresh))
    }
    setTransaction({ ...ownRow, stored, bytes: signed?.bytes ?? ownRow.bytes })
    return stored
  }

  /** What a network remembers of an earlier restore does not hold for a later one. */
  const countersAfterRestore = ({ chain, account }: AccountRow): LaneAccount => {
    const { counters, ...others } = account
    if (counters === undefined) return others
    const { counters: codec } = rules.of(chain)
    const { restore: _, ...json } = JSON.parse(codec.text(counters))
    return { ...others, counters: codec.decode(json) }
  }

  /** As the ledger does when it finds that its database was put back from a copy: nobody knows what was forgotten. */
  const markRestored = (now: Moment): void => {
    for (const row of accounts()) {
      setAccount({ ...row, holder: undefined, epoch: row.epoch + 1, account: countersAfterRestore(row) })
    }
    for (const row of all()) {
      const { version, transaction } = row.stored
      if (!isMarkedAnew(transaction)) continue
      setTransaction({
        ...row,
        stored: { ...row.stored, version: version + 1, transaction: asRestored(transaction, now) }
      })
    }
  }

  return {
    rules,
    tables: () => tables,
    setTables,
    accounts,
    setAccount,
    insertAccount,
    accountAsStored,
    find,
    ensure,
    channelsOf,
    laneOf,
    givenOf,
    givenCost,
    all,
    of,
    setTransaction,
    setTransactions,
    insertOwn,
    writeChanges,
    publish,
    markRestored
  }
}

export class LedgerMemory extends Context.Service<
  LedgerMemory,
  {
    /** @internal */
    readonly lease: Duration.Duration
    /**
     * The ids of the processes that live: lanes of others are free.
     *
     * @internal
     */
    readonly living: Set<string>
    /**
     * Callers of commands for transactions in flight wake these.
     *
     * @internal
     */
    readonly listeners: Set<Effect.Effect<void>>
    /** @internal */
    readonly rows: ReturnType<typeof make>
    /**
     * Runs `writes` alone. If they fail, the tables are as they were before them.
     *
     * @internal
     */
    atomically<A, E, R>(writes: Effect.Effect<A, E, R>): Effect.Effect<A, E, R>

    /** Events about requests that were published so far, in their order. */
    readonly events: Effect.Effect<ReadonlyArray<Published>>
    /** The tables as they are now. */
    readonly copy: Effect.Effect<Tables>
    /** Puts a copy back. Lanes are free afterwards. Whether the ledger notices it is up to `restored`. */
    putBack(copy: Tables): Effect.Effect<void>
    /** What the ledger does when it notices that its database was put back from a copy. */
    readonly restored: Effect.Effect<void>
  }
>()("effect-relayer/server/ledger/memory/LedgerMemory") {
  /** @internal */
  static readonly layer = ({ lease = defaultLease }: Options = {}) =>
    Layer.effect(
      LedgerMemory,
      Effect.gen(function* () {
        const rows = make(yield* LedgerRules, yield* Clock.currentTimeMillis)
        const turn = yield* Semaphore.make(1)

        const atomically = <A, E, R>(writes: Effect.Effect<A, E, R>) =>
          turn.withPermits(1)(
            Effect.suspend(() => {
              const before = rows.tables()
              return Effect.onExit(writes, (exit) =>
                Effect.sync(() => {
                  if (Exit.isFailure(exit)) rows.setTables(before)
                })
              )
            })
          )

        return LedgerMemory.of({
          lease: Duration.fromInputUnsafe(lease),
          living: new Set(),
          listeners: new Set(),
          rows,
          atomically,
          events: Effect.sync(() => rows.tables().events),
          copy: Effect.sync(rows.tables),
          putBack: (copy) =>
            atomically(
              Effect.sync(() => {
                const accounts = [...copy.accounts].map(([id, row]) => [id, { ...row, holder: undefined }] as const)
                rows.setTables({ ...copy, accounts: new Map(accounts) })
              })
            ),
          restored: atomically(Effect.map(Clock.currentTimeMillis, rows.markRestored))
        })
      })
    )
}
