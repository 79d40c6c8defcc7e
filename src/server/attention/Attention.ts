// What needs the attention of an operator, for a caller: the findings of all tables that the caller may read.
import { Cache, Clock, DateTime, Effect, Option, Schema } from "effect"
import type { Statement } from "effect/sql"
import type { Readiness as Report } from "../../api/SystemApi.ts"
import * as Caller from "../../domain/access/Caller.ts"
import { arrange, hostOf, kindOfCode, usualBlockTime } from "../../domain/attention/Attention.ts"
import type { AttentionItem, Finding } from "../../domain/attention/Attention.ts"
import { protocolWarning, ProviderReading } from "../../domain/chain/ChainSnapshot.ts"
import { Health } from "../../domain/health/Health.ts"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import { parse } from "../../domain/request/ExactJson.ts"
import { isForOperator, topUpWords } from "../../domain/health/TopUpReport.ts"
import { entryOf, Instant } from "../../domain/request/Shown.ts"
import { client, isUnavailable, query } from "../../sql/Transaction.ts"
import * as Rows from "../../sql/Rows.ts"
import { Figures } from "../../networks/core/Cause.ts"
import { usualCodes } from "../../networks/core/Transition.ts"
import { Chains } from "../chains/Chains.ts"
import type { UnknownProtocol } from "../chains/Chains.ts"
import { LedgerRules } from "../ledger/LedgerEntries.ts"
import { TopUps } from "../ledger/TopUps.ts"
import type { HeldTopUp } from "../ledger/TopUps.ts"
import { Conditions } from "../lifecycle/Lifecycle.ts"
import type { RowName } from "../lifecycle/Lifecycle.ts"
import { Readiness } from "../lifecycle/Readiness.ts"
import { namesOf } from "../masterKey/UnreadableRows.ts"
import { RelayerHealth } from "../health/RelayerHealth.ts"
import { RelayerTargets } from "../relayers/RelayerTargets.ts"
import { withFollowing } from "../relayers/StoredRelayer.ts"

// What the tables say about relayers, transactions, receivers and keys that need attention. A statement each, so that a page that asks
// every five seconds costs little: partial indexes find the rows, and there are few of them while all is well.

/** Rows of each kind that are read at most. */
const maxRows = 2000

/** Receivers that failed for a shorter time usually recover. */
const failingFor = "5 minutes"

const expiresWithin = "7 days"

/** What was confirmed earlier was seen, or nobody asks for it any more. */
const confirmedWithin = "24 hours"

const json = (column: unknown) => parse(String(column))

/** Open transactions of a relayer that have the same code and name the same provider. */
const Held = Rows.withoutNulls(
  Schema.Struct({
    code: Schema.String,
    relayer_id: Schema.String,
    chain: Schema.String,
    count: Schema.Int,
    since: Instant,
    oldest: Instant,
    /** The figures of the transaction that has had the code longest. Absent if this version cannot read them. */
    figures: Schema.optionalKey(Schema.Unknown)
  }),
  { figures: json }
)

const Check = Rows.withoutNulls(
  Schema.Struct({
    relayer_id: Schema.String,
    state: Health,
    since: Schema.optionalKey(Instant),
    providers: Schema.optionalKey(Schema.Array(ProviderReading))
  }),
  { state: json, providers: json }
)

const Receiver = Rows.withoutNulls(
  Schema.Struct({ id: Schema.String, since: Instant, until: Schema.optionalKey(Instant), count: Schema.Int })
)

const WithoutEffect = Schema.Struct({ relayer_id: Schema.String, count: Schema.Int, since: Instant })

const ExpiringKey = Schema.Struct({ id: Schema.String, until: Instant })

const ChangedDelegate = Schema.Struct({ relayer_id: Schema.String, changed: Schema.String, since: Instant })

const readHeldRows = Rows.all(Held)
const readFigures = Schema.decodeUnknownOption(Figures)

const readHeld = (rows: ReadonlyArray<unknown>) =>
  Effect.map(readHeldRows(rows), (found) =>
    found.map(({ figures, ...row }) => ({
      ...row,
      figures: Option.getOrElse(readFigures(figures ?? {}), (): Figures => ({}))
    }))
  )
const readChecks = Rows.all(Check)
const readReceivers = Rows.all(Receiver)
const readKeys = Rows.all(ExpiringKey)
const readChanged = Rows.all(ChangedDelegate)
const readWithoutEffect = Rows.all(WithoutEffect)

/** `undefined`: all relayers. */
type Ids = ReadonlyArray<string> | undefined

const makeAttentionRepo = Effect.gen(function* () {
  const sql = yield* client
  const text = (value: Statement.Fragment) => sql`to_json(${value}) #>> '{}'`
  const among = (column: string, ids: Ids) => (ids === undefined ? [] : [sql`t.${sql(column)} = ANY(${ids}::text[])`])

  // Two parts, so that each one uses its partial index. What is queued behind the first held transaction of a relayer counts with it.
  const held = (ids: Ids) => {
    const part = (states: Statement.Fragment) => sql`
      SELECT t.code, t.relayer_id, t.relayer_number, t.lane_id, t.code_since, t.created_at, t.figures FROM transactions t
      WHERE ${sql.and([states, sql`t.code <> ALL(${usualCodes}::text[])`, ...among("relayer_id", ids)])}`
    const isHeld = sql`o.code <> ALL(${usualCodes}::text[])`
    return sql`
      WITH held AS MATERIALIZED (
        ${part(sql`t.state = 'pending'`)} UNION ALL ${part(sql`t.state IN ('signed', 'submitted', 'mined')`)}
      ), queued AS (
        SELECT f.relayer_id, count(*) FILTER (WHERE f.follows) AS count, (array_agg(
          ARRAY[f.code, f.figures ->> 'host']
          ORDER BY f.is_pending DESC, -f.priority, greatest(f.created_at, f.not_before), f.number
        ) FILTER (WHERE f.held))[1:1] AS first
        FROM (${withFollowing(sql, sql`SELECT relayer_number FROM held LIMIT ${maxRows}`, isHeld)}) f GROUP BY f.relayer_id
      )
      SELECT h.code, h.relayer_id, l.chain, (h.count + coalesce(q.count, 0))::float8 AS count, ${text(sql`h.since`)} AS since,
        ${text(sql`h.oldest`)} AS oldest, h.figures
      FROM (
        SELECT o.code, o.relayer_id, o.figures ->> 'host' AS host, min(o.lane_id) AS lane_id, count(*) AS count,
          min(o.code_since) AS since, min(o.created_at) AS oldest,
          (array_agg(o.figures::text ORDER BY o.code_since))[1] AS figures
        FROM held o GROUP BY o.code, o.relayer_id, o.figures ->> 'host' LIMIT ${maxRows}
      ) h JOIN lanes l ON l.id = h.lane_id
        LEFT JOIN queued q ON q.relayer_id = h.relayer_id AND q.first[1][1] = h.code
          AND q.first[1][2] IS NOT DISTINCT FROM h.host`.pipe(Effect.flatMap(readHeld), query("Attention.held"))
  }

  const checks = (ids: Ids) =>
    sql`
      SELECT t.relayer_id, t.state::text AS state, ${text(sql`t.since`)} AS since, (t.reading -> 'providers')::text AS providers
      FROM relayer_checks t
      WHERE ${sql.and([
        sql`((t.state ->> 'status') IN ('degraded', 'failing', 'disabled') OR (t.state ->> 'told_low') = 'true')`,
        ...among("relayer_id", ids)
      ])} LIMIT ${maxRows}`.pipe(Effect.flatMap(readChecks), query("Attention.checks"))

  /** Lanes whose account delegates to something that has changed, by the relayer that has delegated. */
  const changedDelegates = (ids: Ids) =>
    sql`
      SELECT t.relayer_id, l.watched ->> 'changed' AS changed,
        ${text(sql`to_timestamp((l.watched ->> 'since')::float8 / 1000)`)} AS since
      FROM lanes l JOIN transactions t ON coalesce(t.channel_id, t.lane_id) = l.id AND t.generation = l.generation
        AND t.nonce = (l.watched ->> 'sequence')::bigint
      WHERE ${sql.and([
        sql`(l.watched ->> 'changed') IS NOT NULL AND l.counters -> 'delegation' ->> 'nonce' = l.watched ->> 'sequence'`,
        ...among("relayer_id", ids)
      ])} LIMIT ${maxRows}`.pipe(Effect.flatMap(readChanged), query("Attention.changedDelegates"))

  const receivers = sql`
    SELECT t.id, ${text(sql`t.failing_since`)} AS since, ${text(sql`d.until`)} AS until, d.count::float8 AS count
    FROM notifications t CROSS JOIN LATERAL (
      SELECT count(*) AS count, min(give_up_at) AS until FROM (
        SELECT give_up_at FROM deliveries WHERE notification_seq = t.seq AND state = 'pending' LIMIT ${maxRows}
      ) pending
    ) d
    WHERE t.failing_since < clock_timestamp() - ${failingFor}::interval AND NOT t.paused LIMIT ${maxRows}`.pipe(
    Effect.flatMap(readReceivers),
    query("Attention.receivers")
  )

  const expiringKeys = (now: DateTime.Utc) => {
    const at = DateTime.toDate(now)
    return sql`
      SELECT t.id, ${text(sql`t.expires_at`)} AS until FROM api_keys t
      WHERE t.expires_at > ${at} AND t.expires_at < ${at}::timestamptz + ${expiresWithin}::interval LIMIT ${maxRows}`.pipe(
      Effect.flatMap(readKeys),
      query("Attention.expiringKeys")
    )
  }

  const withoutEffect = (ids: Ids) =>
    sql`
    SELECT t.relayer_id, count(*)::float8 AS count, ${text(sql`min(t.final_at)`)} AS since FROM transactions t
    WHERE ${sql.and([
      sql`t.code = 'authorization_without_effect'`,
      sql`t.final_at > clock_timestamp() - ${confirmedWithin}::interval`,
      ...among("relayer_id", ids)
    ])} GROUP BY t.relayer_id LIMIT ${maxRows}`.pipe(
      Effect.flatMap(readWithoutEffect),
      query("Attention.withoutEffect")
    )

  return { held, checks, changedDelegates, receivers, expiringKeys, withoutEffect }
})

export type HeldRow = Effect.Success<ReturnType<typeof readHeld>>[number]
type CheckRow = typeof Check.Type
type ReceiverRow = typeof Receiver.Type

/** Pages ask every five seconds. Callers that see the same share a result. */
const timeToLive = "2 seconds"

/** Results in memory. */
const capacity = 100

/** What a caller may read. */
interface View {
  readonly transactions: boolean
  readonly notifications: boolean
  readonly keys: boolean
  readonly signers: boolean
  readonly networks: boolean
  readonly relayerIds: ReadonlyArray<string> | undefined
}

const viewOf = (caller: Caller.Caller): View => ({
  transactions: Caller.hasScope(caller, "transactions:read"),
  // Receivers and keys belong to no relayer.
  notifications: caller.relayerIds === undefined && Caller.hasScope(caller, "notifications:read"),
  keys: caller.relayerIds === undefined && Caller.hasScope(caller, "api-keys:read"),
  signers: caller.relayerIds === undefined && Caller.hasScope(caller, "signers:read"),
  networks: caller.relayerIds === undefined && Caller.hasScope(caller, "networks:read"),
  relayerIds: caller.relayerIds
})

const none: Pick<Finding, "relayers" | "transactions"> = { relayers: new Map(), transactions: 0 }

const failedProvider = ({ providers = [] }: CheckRow) => providers.find(({ failed }) => failed)

const ofCheck = (row: CheckRow): ReadonlyArray<Finding> => {
  const { relayer_id: id, state, since } = row
  const provider = failedProvider(row)
  const about = {
    ...(since === undefined ? {} : { since }),
    ...(provider === undefined ? {} : { host: hostOf(provider.url) }),
    resource: { kind: "relayer" as const, id },
    transactions: 0
  }
  const cause = provider === undefined ? "" : ` RPC URL ${provider.url}: ${provider.error ?? "no answer"}.`
  if (state.status === "disabled") {
    const reason = cause === "" ? `The service disabled the relayer: ${state.reason.details}.` : cause.trim()
    const next = "The relayer is checked again, and enabled as soon as one check succeeds."
    return [
      {
        ...about,
        kind: "relayers_disabled",
        code: state.reason.type,
        relayers: new Map([[id, "disabled"]]),
        reason,
        next
      }
    ]
  }
  const degraded: ReadonlyArray<Finding> =
    state.status === "healthy" || state.status === "unknown"
      ? []
      : [
          {
            ...about,
            kind: "relayers_degraded",
            code: state.status === "failing" ? state.reason.type : "provider_failed",
            relayers: new Map([[id, "degraded"]]),
            reason: cause === "" ? "Checks have failed, but too few to disable it." : cause.trim(),
            next: "The relayer is checked again. Replace that RPC URL, or add another one."
          }
        ]
  const { host: _, ...low } = about
  return state.alerted_low
    ? [
        ...degraded,
        {
          ...low,
          kind: "funds",
          code: "low_balance",
          relayers: new Map([[id, "other"]]),
          reason: "The balance is below twice the `min_balance` of the policy.",
          next: "Send funds to the address on the page of the relayer: the service disables it if the balance falls below `min_balance`."
        }
      ]
    : degraded
}

/** The balance is low, and an operator has to do something so that it is topped up. */
const ofTopUp = ({ code, relayer_id: id, since }: HeldTopUp): ReadonlyArray<Finding> => {
  const words = entryOf(topUpWords, code)
  if (words === undefined || !isForOperator(code)) return []
  return [
    {
      kind: "funds",
      code,
      since,
      relayers: new Map([[id, "other"]]),
      transactions: 0,
      resource: { kind: "relayer", id },
      ...words
    }
  ]
}

const ofReceiver = ({ id, since, until, count }: ReceiverRow): Finding => ({
  ...none,
  kind: "receiver",
  code: "receiver_failing",
  since,
  ...(until === undefined ? {} : { until }),
  resource: { kind: "notification", id },
  reason: `The receiver ${id} does not accept its webhooks; ${count === 1 ? "1 delivery waits" : `${count} deliveries wait`}.`,
  next:
    until === undefined
      ? "The service tries again."
      : `The service tries again. The first delivery is given up at ${DateTime.formatIso(until)}.`
})

const ofDelegate = ({ relayer_id: id, changed, since }: typeof ChangedDelegate.Type): Finding => ({
  kind: "decision",
  code: "delegate_changed",
  since,
  relayers: new Map([[id, "other"]]),
  transactions: 0,
  resource: { kind: "relayer", id },
  reason: `What the account of the relayer delegates to has changed since the delegation: ${changed}.`,
  next: "Transactions with many calls are not signed. Check the contract, and delegate again on the page of the relayer, or end the delegation."
})

const ofKey = ({ id, until }: { readonly id: string; readonly until: DateTime.Utc }): Finding => ({
  ...none,
  kind: "key_expires",
  code: "key_expires",
  until,
  resource: { kind: "key", id },
  reason: `The API key ${id} expires at ${DateTime.formatIso(until)}.`,
  next: "The requests of the key are refused then. Change `expires_at`, or have its holder use another key."
})

const ofWithoutEffect = ({ relayer_id: id, count, since }: typeof WithoutEffect.Type): Finding => ({
  kind: "without_effect",
  code: "authorization_without_effect",
  since,
  relayers: new Map([[id, "other"]]),
  transactions: count,
  resource: { kind: "relayer", id },
  reason:
    "Transactions were confirmed, and delegations of their authorizations are not there. Calls of accounts without code succeed, and do nothing but take value.",
  next: "Look at `authorizations` of these transactions, and have the accounts sign again with their present nonces. This stands here for 24 hours."
})

/** Rows that an item names. */
const maxNamed = 10

const kindOfTable = { relayers: "relayer", signers: "signer", networks: "network" } as const

const isShown =
  ({ signers, networks, relayerIds }: Pick<View, "signers" | "networks" | "relayerIds">) =>
  ({ table, id }: RowName): boolean =>
    table === "relayers" ? (relayerIds?.includes(id) ?? true) : table === "signers" ? signers : networks

/** One item for all of them: they have one cause as a rule, and one repair. */
const ofRows = (rows: ReadonlyArray<RowName>): ReadonlyArray<Finding> => {
  const [first] = rows
  if (first === undefined) return []
  const kind = rows.length === 1 ? Object.entries(kindOfTable).find(([table]) => table === first.table)?.[1] : undefined
  const count = rows.length === 1 ? "1 row" : `${rows.length} rows`
  return [
    {
      kind: "unreadable",
      code: "row_unreadable",
      relayers: new Map(rows.flatMap(({ table, id }) => (table === "relayers" ? [[id, "other"] as const] : []))),
      transactions: 0,
      ...(kind === undefined ? {} : { resource: { kind, id: first.id } }),
      reason: `The service cannot verify ${count} of the database, and does nothing with ${rows.length === 1 ? "it" : "them"}: ${namesOf(rows, maxNamed)}.`,
      next: "Another program or a person changed the database, or a defect of an earlier version lost the secret of MACs. `effect-relayer repair` shows the evidence for each cause. Restore a row that was changed from a backup; the command accepts a row that you confirm. Delete no signer whose key exists nowhere else."
    }
  ]
}

/** The health job reads the protocol of a network with each check of its relayers. */
const ofProtocol = ({ network: id, protocol }: UnknownProtocol): Finding => ({
  ...none,
  kind: "service",
  code: "protocol_unknown",
  resource: { kind: "network", id },
  reason: protocolWarning(protocol) ?? `The network runs protocol ${protocol}.`,
  next: "Update the service. What it knows of earlier protocols goes on working."
})

const ofService = ({ components: { jobs, audit, events } }: Report): ReadonlyArray<Finding> => {
  const unhealthy = Object.entries(jobs).flatMap(([name, status]) =>
    name !== "status" && status === "unhealthy" ? [name] : []
  )
  const next = "The log of the instance has the details; `GET /api/v1/ready` shows when it works again."
  return [
    ...(unhealthy.length === 0
      ? []
      : [{ code: "jobs_unhealthy", reason: `Jobs of this instance do not do their work: ${unhealthy.join(", ")}.` }]),
    ...[audit, events].flatMap(({ reason }, index) =>
      reason === undefined ? [] : [{ code: index === 0 ? "audit_unhealthy" : "events_unhealthy", reason: `${reason}.` }]
    )
  ].map((found): Finding => ({ ...none, kind: "service", next, ...found }))
}

/**
 * A relayer whose row cannot be read does not hide what else needs attention. An unavailable database does: the caller has to ask again.
 */
const orIfUnreadable = <B>(value: B) =>
  Effect.catchDefect((defect) => (isUnavailable(defect) ? Effect.die(defect) : Effect.succeed(value)))

export const make = Effect.gen(function* () {
  const repo = yield* makeAttentionRepo
  const networks = yield* LedgerRules
  const readiness = yield* Readiness
  const conditions = yield* Conditions
  const health = yield* RelayerHealth
  const targets = yield* RelayerTargets
  const chains = yield* Chains
  const topUps = yield* TopUps

  /** Networks of one chain have about the same, so one relayer of each chain is read. */
  const blockTimesOf = Effect.fnUntraced(function* (held: ReadonlyArray<HeldRow>) {
    const relayers = new Map(held.map(({ chain, relayer_id: id }) => [chain, id]))
    const times = yield* Effect.forEach(
      relayers,
      ([chain, id]) =>
        targets.get(RelayerId.make(id)).pipe(
          Effect.map(({ network }) => network.average_blocktime_ms),
          // It was deleted meanwhile.
          Effect.catchTag("RelayerNotFound", () => Effect.succeed(usualBlockTime)),
          orIfUnreadable(usualBlockTime),
          Effect.map((blockTime) => [chain, blockTime] as const)
        ),
      { concurrency: "unbounded" }
    )
    return new Map(times)
  })

  const ofHeld = (
    now: number,
    blockTime: number,
    { code, relayer_id: id, chain, count, since, oldest, figures }: HeldRow
  ) => {
    const isOfRelayer = code === "relayer_disabled"
    const kind = isOfRelayer ? "held" : kindOfCode(code, now - since.epochMilliseconds, blockTime)
    if (kind === undefined) return []
    const { reason, next } = networks.of(chain).rules.explain({ code, figures }, false)
    const finding: Finding = {
      kind,
      code,
      since,
      ...(figures.decides_at === undefined ? {} : { until: DateTime.makeUnsafe(figures.decides_at) }),
      relayers: new Map([[id, "other"]]),
      transactions: count,
      oldest,
      ...(figures.host === undefined ? {} : { host: hostOf(figures.host) }),
      resource: { kind: "relayer", id },
      reason,
      next
    }
    return [finding]
  }

  /** `undefined`: nothing is missing, or the relayer was deleted meanwhile, or its row cannot be read. */
  const fundingOf = (id: string) =>
    health.explain(RelayerId.make(id)).pipe(
      Effect.map(({ funding }) => funding),
      Effect.catchTag("RelayerNotFound", () => Effect.undefined),
      orIfUnreadable(undefined)
    )

  const withFunding = Effect.fnUntraced(function* (item: AttentionItem) {
    if (item.kind !== "funds") return item
    const found = yield* Effect.forEach(item.relayers.ids, fundingOf)
    const funding = found.filter((one) => one !== undefined)
    return funding.length === 0 ? item : { ...item, funding }
  })

  const report = readiness.check.pipe(Effect.catchTag("NotReady", (error) => Effect.succeed(error.readiness)))

  const look = Effect.fn("Attention.look")(function* (view: View) {
    const { transactions, networks: showsNetworks, notifications, keys, relayerIds } = view
    const now = yield* Clock.currentTimeMillis
    const checks = yield* repo.checks(relayerIds)
    const held = transactions ? yield* repo.held(relayerIds) : []
    const blockTimes = yield* blockTimesOf(held)
    const inVain = transactions ? yield* repo.withoutEffect(relayerIds) : []
    const receivers = notifications ? yield* repo.receivers : []
    const expiring = keys ? yield* repo.expiringKeys(DateTime.makeUnsafe(now)) : []
    const protocols = showsNetworks ? yield* chains.unknownProtocols : []
    const { rows } = yield* conditions.problems
    const items = arrange([
      ...ofRows((rows?.rows ?? []).filter(isShown(view))),
      ...checks.flatMap(ofCheck),
      ...(yield* repo.changedDelegates(relayerIds)).map(ofDelegate),
      ...(yield* topUps.held(relayerIds, maxRows)).flatMap(ofTopUp),
      ...held.flatMap((row) => ofHeld(now, blockTimes.get(row.chain) ?? usualBlockTime, row)),
      ...inVain.map(ofWithoutEffect),
      ...receivers.map(ofReceiver),
      ...ofService(yield* report),
      ...protocols.map(ofProtocol),
      ...expiring.map(ofKey)
    ])
    return yield* Effect.forEach(items, withFunding)
  })

  const views = yield* Cache.make({ capacity, timeToLive, lookup: (view: string) => look(JSON.parse(view)) })

  const list: Effect.Effect<ReadonlyArray<AttentionItem>> = Effect.flatMap(Caller.current, (caller) =>
    Cache.get(views, JSON.stringify(viewOf(caller)))
  )

  return { list, look }
})
