// What keeps the ledger from accepting: bytes that another transaction has, too many open transactions, and limits of fees. Two
// transactions with the same bytes would be executed once, and both would be reported as confirmed: only one of them is accepted.
import { Clock, Effect, Schema } from "effect"
import { TooManyRequests } from "../../domain/access/Caller.ts"
import { feeOf } from "../../networks/core/Queue.ts"
import { TransactionConflict } from "../../networks/core/Rules.ts"
import type { LaneKey } from "../../networks/core/Rules.ts"
import { FeeLimitExceeded } from "../../networks/core/TransactionLimits.ts"
import { maxOpen, TransactionId } from "../../networks/core/TransactionValues.ts"
import type { Moment } from "../../networks/core/TransactionValues.ts"
import { withAttempt } from "../../networks/core/Transition.ts"
import { client, query } from "../../sql/Transaction.ts"
import * as Rows from "../../sql/Rows.ts"
import type { Account, FeeLimit, NewTransaction, Signature } from "./LedgerEntries.ts"
import * as RelayerTransactionsRepo from "./RelayerTransactionsRepo.ts"

// Finds transactions that a new one cannot stand beside: those with the same bytes, and open ones that exclude it.

/** The identity of a transaction that is not accepted yet, and the lane that it is for. */
export interface LaneIdentity extends LaneKey {
  readonly identity: string
}

/** As `NewTransaction` has them. */
export type Identified = Partial<Pick<NewTransaction, "id" | "identity" | "exclusive" | "authorities">>

const Rival = Schema.Struct({
  kind: Schema.Literals(["identity", "exclusive", "authority"]),
  id: TransactionId,
  relayer_number: Schema.Int
})
export type Rival = typeof Rival.Type

const readRivals = Rows.all(Rival)
const readIdentities = Rows.all(Schema.Struct({ identity: Schema.String }))

const given = (values: ReadonlyArray<string | undefined>) => values.filter((value) => value !== undefined)

const makeIdentitiesRepo = Effect.gen(function* () {
  const sql = yield* client

  /**
   * Stored transactions that conflict with the added ones: by the unique index of `identity` in the generation of the lane, by that
   * of `exclusive`, by that of authorities of open transactions of the chain, or because an attempt contains the same inner bytes and may be,
   * or was, executed. A transaction does not conflict with itself.
   */
  const rivals = Effect.fnUntraced(function* ({ chain, address }: LaneKey, added: ReadonlyArray<Identified>) {
    const identities = given(added.map(({ identity }) => identity))
    const exclusives = given(added.map(({ exclusive }) => exclusive))
    const authorities = added.flatMap((one) => one.authorities ?? [])
    if (identities.length === 0 && exclusives.length === 0 && authorities.length === 0) return []
    const own = given(added.map(({ id }) => id))
    return yield* sql`
      WITH lane AS (SELECT l.id, l.generation FROM lanes l WHERE l.chain = ${chain} AND l.address = ${address})
      SELECT 'identity' AS kind, t.id, t.relayer_number::float8 AS relayer_number FROM transactions t
      WHERE t.generation = coalesce((SELECT generation FROM lane), 0) AND t.identity = ANY(${identities}::text[])
        AND t.id <> ALL(${own}::uuid[])
      UNION ALL
      SELECT 'identity', t.id, t.relayer_number::float8 FROM attempts a JOIN transactions t ON t.id = a.transaction_id
      WHERE (a.offer ->> 'innerHash') IS NOT NULL AND (a.offer ->> 'innerHash') = ANY(${identities}::text[])
        AND (t.final_at IS NULL OR t.mined_attempt IS NOT NULL) AND t.id <> ALL(${own}::uuid[])
      UNION ALL
      SELECT 'exclusive' AS kind, t.id, t.relayer_number::float8 AS relayer_number FROM transactions t JOIN lane ON lane.id = t.lane_id
      WHERE t.exclusive = ANY(${exclusives}::text[]) AND t.final_at IS NULL AND t.id <> ALL(${own}::uuid[])
      UNION ALL
      SELECT 'authority', t.id, t.relayer_number::float8 FROM transaction_authorities a JOIN transactions t ON t.id = a.transaction_id
      WHERE a.chain = ${chain} AND a.authority = ANY(${authorities}::text[]) AND t.final_at IS NULL
        AND t.id <> ALL(${own}::uuid[])`.pipe(Effect.flatMap(readRivals), query("IdentitiesRepo.rivals"))
  })

  /**
   * Identities that a stored transaction, an attempt or a signature that a caller got has, in the generation of the lane or around the
   * same inner bytes. A transaction can be accepted beside some of them: `rivals` decides.
   */
  const taken = Effect.fnUntraced(function* (added: ReadonlyArray<LaneIdentity>) {
    const identities = added.map(({ identity }) => identity)
    const rows = yield* sql`
      WITH given AS (
        SELECT g.identity, coalesce(l.generation, 0) AS generation
        FROM unnest(${added.map(({ chain }) => chain)}::text[], ${added.map(({ address }) => address)}::text[], ${identities}::text[])
          AS g (chain, address, identity)
        LEFT JOIN lanes l ON l.chain = g.chain AND l.address = g.address
      )
      SELECT g.identity FROM given g JOIN transactions t ON t.generation = g.generation AND t.identity = g.identity
      UNION ALL
      SELECT g.identity FROM given g JOIN signatures_given s ON s.generation = g.generation AND s.identity = g.identity
      UNION ALL
      SELECT a.offer ->> 'innerHash' FROM attempts a
      WHERE (a.offer ->> 'innerHash') IS NOT NULL AND (a.offer ->> 'innerHash') = ANY(${identities}::text[])`.pipe(
      Effect.flatMap(readIdentities),
      query("IdentitiesRepo.taken")
    )
    return rows.map(({ identity }) => identity)
  })

  /**
   * Locks identities until the running transaction ends: a signature that a caller gets and a transaction with the same bytes are
   * stored one after the other.
   */
  const lock = (identities: ReadonlyArray<string>) =>
    identities.length === 0
      ? Effect.void
      : sql`
          SELECT pg_advisory_xact_lock(hashtextextended(identity, 0)) FROM (
            SELECT DISTINCT identity FROM unnest(${identities}::text[]) AS given(identity) ORDER BY identity
          ) sorted`.pipe(Effect.asVoid, query("IdentitiesRepo.lock"))

  /**
   * The transaction that has a signature as one of its attempts, in the generation of the lane, if it is open or was executed. Its
   * bytes can be ones that the service built, so that it has no identity.
   */
  const signedAs = ({ chain, address }: LaneKey, hash: string) =>
    sql`
      SELECT 'identity' AS kind, t.id, t.relayer_number::float8 AS relayer_number
      FROM lanes l JOIN transactions t ON t.lane_id = l.id JOIN attempts a ON a.transaction_id = t.id
      WHERE a.hash = ${hash}::text AND a.generation = l.generation AND l.chain = ${chain} AND l.address = ${address}
        AND (t.final_at IS NULL OR t.mined_attempt IS NOT NULL)
      LIMIT 1`.pipe(Effect.flatMap(readRivals), query("IdentitiesRepo.signedAs"))

  return { rivals, taken, signedAs, lock }
})

/** The caller may not use other relayers: their transactions have no name here. */
const rivalName = ({ id, relayer_number }: Rival, relayerNumber: number): string =>
  relayer_number === relayerNumber ? `transaction ${id}` : "a transaction of another relayer"

/** A transaction of the same relayer has the bytes. */
export const sameBytes = (id: TransactionId) =>
  new TransactionConflict({ error: `already_accepted: transaction ${id} has the same bytes` })

const conflicts: Readonly<Record<Rival["kind"], (name: string) => string>> = {
  identity: (name) => `already_accepted: ${name} has the same bytes`,
  exclusive: (name) => `sequence_in_use: ${name} uses the same sequence and is open`,
  authority: (name) => `authorization_in_use: ${name} has an authorization of the same account and is open`
}

/** Another transaction was accepted since the check. */
export const authorityTaken = new TransactionConflict({ error: conflicts.authority("another transaction") })

export const conflictWith = (rival: Rival, relayerNumber: number): TransactionConflict =>
  new TransactionConflict({ error: conflicts[rival.kind](rivalName(rival, relayerNumber)) })

/** The first value that occurs twice. */
const twice = (values: ReadonlyArray<string | undefined>): string | undefined =>
  values.find((value, index) => value !== undefined && values.indexOf(value) < index)

/** Two of these cannot be accepted together. Undefined: all of them can. */
export const repeatedIn = (added: ReadonlyArray<Identified>): TransactionConflict | undefined => {
  if (twice(added.map(({ identity }) => identity)) !== undefined) {
    return new TransactionConflict({ error: "already_accepted: the request has the same bytes twice" })
  }
  if (twice(added.map(({ exclusive }) => exclusive)) !== undefined) {
    return new TransactionConflict({ error: "sequence_in_use: the request uses the same sequence twice" })
  }
  if (twice(added.flatMap(({ authorities }) => authorities ?? [])) !== undefined) {
    return new TransactionConflict({
      error: "authorization_in_use: two transactions of the request have an authorization of the same account"
    })
  }
  return undefined
}

export const makeIdentities = Effect.gen(function* () {
  const repo = yield* makeIdentitiesRepo

  /** Fails if another transaction has the bytes of one of these, or if an open one excludes it. */
  const check = Effect.fnUntraced(function* (
    account: Pick<Account, "chain" | "address" | "relayerNumber">,
    added: ReadonlyArray<Identified>
  ) {
    const repeated = repeatedIn(added)
    if (repeated !== undefined) return yield* repeated
    const [rival] = yield* repo.rivals(account, added)
    if (rival !== undefined) return yield* conflictWith(rival, account.relayerNumber)
  })

  /** Fails if a transaction has the signature. The lane is locked, so that none gets it meanwhile. */
  const checkSignature = Effect.fnUntraced(function* (account: Account, hash: string) {
    const [rival] = yield* repo.signedAs(account, hash)
    if (rival !== undefined) return yield* conflictWith(rival, account.relayerNumber)
  })

  /** Until the running transaction ends. */
  const { lock } = repo

  /** Locks identities. Returns those that a stored transaction, an attempt, a given signature or another one of these has, too. */
  const lockDoubtful = Effect.fnUntraced(function* (added: ReadonlyArray<LaneIdentity>) {
    if (added.length === 0) return new Set<string>()
    const identities = added.map(({ identity }) => identity)
    yield* lock(identities)
    const repeated = identities.filter((identity, index) => identities.indexOf(identity) < index)
    return new Set([...repeated, ...(yield* repo.taken(added))])
  })

  return { check, checkSignature, lock, lockDoubtful }
})

// How many transactions are open, for the limits of acceptance. Counts are kept for a moment, because each one reads every open transaction.
// Near the limit of a relayer, its transactions are counted for each insertion: other instances can exceed the limit by what is in flight, and
// that of the service by what they accept while a count is kept.

/** Milliseconds for which a count is kept. `ofRelayerFilling`: if more than half of the limit of the relayer is used. */
const kept = { ofRelayer: 5000, ofRelayerFilling: 1000, ofService: 5000 } as const

/** Open transactions of a relayer above which none is accepted by a count that is kept: nine tenths of the limit. */
const countedAbove = 0.9 * maxOpen.perRelayer

/**
 * Transactions that an instance accepts for a relayer by one count. An instance that has counted less than `countedAbove` accepts this many before it
 * sees what others have accepted, so ten instances stay within the limit.
 */
const maxByCount = (maxOpen.perRelayer - countedAbove) / 10

/** Relayers whose counts are kept. */
const maxKept = 10_000

/** Seconds after which a refused caller may try again: a few blocks. */
export const openRetryAfter = 5

interface Counted {
  readonly at: number
  /** What the database had. */
  readonly found: number
  /** With what was accepted since. */
  count: number
}

export interface Addition {
  readonly relayerNumber: number
  readonly count: number
}

export const makeOpenCounts = Effect.gen(function* () {
  const repo = yield* RelayerTransactionsRepo.make
  const relayers = new Map<number, Counted>()
  let all: Counted = { at: Number.NEGATIVE_INFINITY, found: 0, count: 0 }

  /** Whether `more` are decided by this count. */
  const isKept = ({ at, found, count }: Counted, more: number, now: number) => {
    const age = now - at
    // Nothing is accepted by such a count.
    if (count >= maxOpen.perRelayer) return age < kept.ofRelayerFilling
    if (count + more > countedAbove || count + more - found > maxByCount) return false
    return age < (count <= maxOpen.perRelayer / 2 ? kept.ofRelayer : kept.ofRelayerFilling)
  }

  /** Those that are not kept are counted in one statement. */
  const ofRelayers = Effect.fnUntraced(function* (additions: ReadonlyArray<Addition>, now: number) {
    const more = new Map<number, number>()
    for (const { relayerNumber, count } of additions) more.set(relayerNumber, (more.get(relayerNumber) ?? 0) + count)
    const counted = new Map<number, Counted>()
    for (const [number, count] of more) {
      const former = relayers.get(number)
      if (former !== undefined && isKept(former, count, now)) counted.set(number, former)
    }
    const missing = [...more.keys()].filter((number) => !counted.has(number))
    if (missing.length === 0) return counted
    const counts = yield* repo.countOpen(missing)
    if (relayers.size + missing.length > maxKept) relayers.clear()
    for (const number of missing) {
      const found = counts.get(number) ?? 0
      const fresh = { at: now, found, count: found }
      relayers.set(number, fresh)
      counted.set(number, fresh)
    }
    return counted
  })

  const ofService = Effect.fnUntraced(function* (now: number) {
    if (now - all.at < kept.ofService) return all
    const found = yield* repo.countAllOpen(maxOpen.perService)
    all = { at: now, found, count: found }
    return all
  })

  /** Counts more transactions of relayers. Returns for each addition whether there was room for it. */
  const addAll = Effect.fnUntraced(function* (additions: ReadonlyArray<Addition>) {
    const now = yield* Clock.currentTimeMillis
    const service = yield* ofService(now)
    const counted = yield* ofRelayers(additions, now)
    return additions.map(({ relayerNumber, count }) => {
      const relayer = counted.get(relayerNumber)
      if (relayer === undefined) return false
      if (relayer.count + count > maxOpen.perRelayer || service.count + count > maxOpen.perService) return false
      relayer.count += count
      service.count += count
      return true
    })
  })

  /** Takes back one transaction of each of these relayers, because it was not stored. */
  const remove = (relayerNumbers: ReadonlyArray<number>): void => {
    for (const number of relayerNumbers) {
      const relayer = relayers.get(number)
      if (relayer !== undefined) relayer.count -= 1
      all.count -= 1
    }
  }

  /** Fails if there is no room. */
  const add = Effect.fnUntraced(function* (addition: Addition) {
    const [hasRoom] = yield* addAll([addition])
    if (hasRoom !== true) return yield* new TooManyRequests({ retryAfter: openRetryAfter })
  })

  return { addAll, add, remove }
})

// The fees of API keys in the tables `transactions` and `signatures_given`.

const readLimits = Rows.all(
  Schema.Struct({ key_id: Schema.String, network_type: Schema.String, maximum: Schema.BigIntFromString })
)
const readSum = Rows.one(Schema.Struct({ sum: Schema.BigIntFromString }))

/** Names a limit. */
export type LimitKey = Pick<FeeLimit, "keyId" | "networkType">

export const makeFeesRepo = Effect.gen(function* () {
  const sql = yield* client

  /**
   * Locks the limits in the order of their keys and network types, until the transaction ends, and returns those that it found, as they are
   * now. A change deletes and inserts the limits of a key: a statement that waits for it finds neither.
   */
  const lockLimits = (limits: ReadonlyArray<LimitKey>) => {
    const ids = limits.map(({ keyId }) => keyId)
    const types = limits.map(({ networkType }) => networkType)
    return sql`
      SELECT l.key_id, l.network_type, l.maximum::text AS maximum FROM api_key_fee_limits l
      WHERE (l.key_id, l.network_type) IN (SELECT * FROM unnest(${ids}::text[], ${types}::text[]))
      ORDER BY l.key_id, l.network_type FOR UPDATE`.pipe(
      Effect.flatMap(readLimits),
      Effect.map((rows) =>
        rows.map(({ key_id, network_type, maximum }): FeeLimit => ({
          keyId: key_id,
          networkType: network_type,
          maximum
        }))
      ),
      query("FeesRepo.lockLimits")
    )
  }

  /**
   * What transactions of the key and of its descendants on networks of the type can cost, or have cost if they became final
   * after `since`, and what signatures that were given since then can cost, landed or not, in the smallest unit. Deleted descendants are included. `chain` of a lane begins with the network type.
   */
  const sum = ({ keyId, networkType }: LimitKey, since: Moment) =>
    sql`
      WITH keys AS MATERIALIZED (
        SELECT array_agg(id) AS ids FROM (
          SELECT ${keyId}::text AS id UNION ALL SELECT d.id FROM api_key_descendants d WHERE d.ancestor = ${keyId}
        ) named
      )
      SELECT ((
          SELECT coalesce(sum(t.fee), 0) FROM transactions t JOIN lanes l ON l.id = t.lane_id
          WHERE split_part(l.chain, ':', 1) = ${networkType} AND t.api_key_id = ANY((SELECT ids FROM keys)::text[])
            AND t.fee IS NOT NULL AND (t.final_at IS NULL OR t.final_at > to_timestamp(${since}::float8 / 1000))
        ) + (
          SELECT coalesce(sum(g.fee), 0) FROM signatures_given g
          WHERE split_part(g.chain, ':', 1) = ${networkType} AND g.key_id = ANY((SELECT ids FROM keys)::text[])
            AND g.created_at > to_timestamp(${since}::float8 / 1000)
        ))::text AS sum`.pipe(
      Effect.flatMap(readSum),
      Effect.map((row) => row.sum),
      query("FeesRepo.sum")
    )

  return { lockLimits, sum }
})

// The limits of fees per day. The sum is computed under a lock on the limit of the API key, in the SQL transaction that adds to it:
// two of them cannot both use what is left.

/** Milliseconds of the fees that `max_fee_per_day` limits. */
export const feePeriod = 24 * 3_600_000

/** What the running transaction adds to the fees of a key and its descendants, in the smallest unit. */
export interface Spending extends FeeLimit {
  readonly more: bigint
}

/** By how much a signature raises what its transaction can cost. A no-op is not limited: it ends what could cost more. */
const raiseOf = ({ stored: { fee, transaction }, attempt, cause }: Signature, now: Moment): bigint =>
  fee === undefined || attempt.kind === "noop" ? 0n : feeOf(withAttempt(transaction, attempt, cause, now), fee) - fee

/** What signatures of one lane add to the fees of keys with a limit. Keys whose fees do not grow are left out. */
export const spendingsOf = (signatures: ReadonlyArray<Signature>, now: Moment): ReadonlyArray<Spending> => {
  const spendings = new Map<string, Spending>()
  for (const signature of signatures) {
    for (const limit of signature.feeLimits ?? []) {
      const { more } = spendings.get(limit.keyId) ?? { more: 0n }
      spendings.set(limit.keyId, { ...limit, more: more + raiseOf(signature, now) })
    }
  }
  return [...spendings.values()].filter(({ more }) => more > 0n)
}

const limitName = ({ keyId, networkType }: LimitKey): string => `${networkType} ${keyId}`

export const makeFeeLimits = Effect.gen(function* () {
  const fees = yield* makeFeesRepo

  /** Those that a change has replaced while the first statement waited for it are found by the second one. */
  const lock = Effect.fnUntraced(function* (limits: ReadonlyArray<LimitKey>) {
    const found = yield* fees.lockLimits(limits)
    if (found.length === limits.length) return found
    const names = new Set(found.map(limitName))
    return [...found, ...(yield* fees.lockLimits(limits.filter((limit) => !names.has(limitName(limit)))))]
  })

  /**
   * Locks the limits until the running transaction ends. Fails if one of them, as it is now, would be exceeded. One that was removed meanwhile
   * counts as it was given.
   */
  const spend = Effect.fnUntraced(function* (spendings: ReadonlyArray<Spending>, now: Moment) {
    if (spendings.length === 0) return
    const stored = new Map((yield* lock(spendings)).map((limit) => [limitName(limit), limit.maximum]))
    for (const { maximum: given, more, ...limit } of spendings) {
      const maximum = stored.get(limitName(limit)) ?? given
      const used = yield* fees.sum(limit, now - feePeriod)
      if (used + more > maximum) return yield* new FeeLimitExceeded({ keyId: limit.keyId, limit: maximum, used })
    }
  })

  return { spend }
})
