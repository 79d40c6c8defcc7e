// The health of a relayer and of the providers of a network: from an inspection now, or from the last checks.
import { Clock, Context, DateTime, Duration, Effect, Layer, Option, Schema } from "effect"
import * as Caller from "../../domain/access/Caller.ts"
import type { TooManyRequests } from "../../domain/access/Caller.ts"
import { CheckCode, protocolWarning } from "../../domain/chain/ChainSnapshot.ts"
import type { ChainSnapshot } from "../../domain/chain/ChainSnapshot.ts"
import {
  balanceOf,
  carry,
  fundingOf,
  hasAnswered,
  minBalanceOf,
  sinceOf,
  trendOf
} from "../../domain/health/Funding.ts"
import type { BalanceTrend, BalanceTrendQuery, Funding } from "../../domain/health/Funding.ts"
import { explain } from "../../domain/health/HealthExplanation.ts"
import type { RelayerExplanation } from "../../domain/health/HealthExplanation.ts"
import { topUpReportOf } from "../../domain/health/TopUpReport.ts"
import type { NetworkId } from "../../domain/network/Network.ts"
import { maxChecked } from "../../domain/network/NetworkProvider.ts"
import type { NetworkProvider } from "../../domain/network/NetworkProvider.ts"
import { RelayerNotFound, unitOf } from "../../domain/relayer/Relayer.ts"
import type { Relayer, RelayerBalance, RelayerId, RelayerStatus } from "../../domain/relayer/Relayer.ts"
import { BadGateway } from "../../domain/request/Request.ts"
import type { NotImplemented } from "../../domain/request/Request.ts"
import * as Rows from "../../sql/Rows.ts"
import { present } from "../../networks/core/Presentation.ts"
import { Chains, notServed } from "../chains/Chains.ts"
import type { ProbedProvider } from "../chains/Chains.ts"
import { Ledger } from "../ledger/Ledger.ts"
import { LedgerRules } from "../ledger/LedgerEntries.ts"
import { TopUps } from "../ledger/TopUps.ts"
import { Instant } from "../../domain/request/Shown.ts"
import { client, query } from "../../sql/Transaction.ts"
import { OutboundWork } from "../limits/RateLimits.ts"
import { Networks } from "../networks/Networks.ts"
import { RelayerTargets } from "../relayers/RelayerTargets.ts"
import { Relayers } from "../relayers/Relayers.ts"
import type { StoredRelayer } from "../relayers/StoredRelayer.ts"
import { HealthChecks } from "./HealthChecks.ts"
import * as HealthRepo from "./HealthRepo.ts"
import { makeBalancesRepo } from "./HealthRepo.ts"
import type { Check } from "./HealthRepo.ts"

/** The longest time that a caller waits for a chain. */
const patience = Duration.seconds(10)

const whyUnanswered = (seen: ChainSnapshot | undefined): string => {
  const failed = (seen?.providers ?? []).flatMap(({ error, url }) => (error === undefined ? [] : [`${url}: ${error}`]))
  return failed.length > 0 ? failed.join("; ") : `no provider answered within ${Duration.format(patience)}`
}

export class RelayerHealth extends Context.Service<
  RelayerHealth,
  {
    /** Inspects the chain. If it does not answer in time, the amounts are those of the last check. */
    status(id: RelayerId): Effect.Effect<RelayerStatus, RelayerNotFound | TooManyRequests>
    /** Fails with `BadGateway` if the chain does not answer or is the wrong one. */
    balance(
      id: RelayerId
    ): Effect.Effect<RelayerBalance, RelayerNotFound | BadGateway | NotImplemented | TooManyRequests>
    /** Runs a check now and returns the resulting status. */
    check(id: RelayerId): Effect.Effect<RelayerStatus, RelayerNotFound | NotImplemented | TooManyRequests>
    explain(id: RelayerId): Effect.Effect<RelayerExplanation, RelayerNotFound>
    /** The balances that the checks of all instances have read. No provider is asked. */
    balances(id: RelayerId, query: BalanceTrendQuery): Effect.Effect<BalanceTrend, RelayerNotFound>
    /**
     * What to send to the relayer for a transaction that lacks `waiting`. Undefined: the balance is not known, or nothing is missing.
     *
     * @internal
     */
    funding(id: RelayerId, waiting: bigint): Effect.Effect<Funding | undefined, RelayerNotFound>
  }
>()("effect-relayer/server/health/RelayerHealth") {
  /** @internal */
  static readonly layer = Layer.effect(
    RelayerHealth,
    Effect.gen(function* () {
      const repo = yield* HealthRepo.make
      const balances = yield* makeBalancesRepo
      const relayers = yield* Relayers
      const ledger = yield* Ledger
      const targets = yield* RelayerTargets
      const chains = yield* Chains
      const checks = yield* HealthChecks
      const outboundWork = yield* OutboundWork
      const networks = yield* LedgerRules
      const topUps = yield* TopUps

      /** The row of the check is created with the relayer. Without it, the relayer does not exist. */
      const find = (id: RelayerId) =>
        Effect.flatMap(
          repo.find(id),
          Option.match({ onNone: () => Effect.fail(new RelayerNotFound({})), onSome: Effect.succeed })
        )

      const inspect = Effect.fnUntraced(function* (id: RelayerId) {
        const target = yield* targets.get(id)
        const { network_type } = target.relayer
        if (!chains.serves(network_type)) return yield* notServed(network_type)
        return yield* outboundWork.run(Effect.timeoutOption(chains.inspect(target), patience))
      })

      const transactionsOf = Effect.fnUntraced(function* (relayerNumber: number) {
        const confirmed = Option.getOrUndefined(yield* ledger.lastConfirmed(relayerNumber))
        return {
          pending_transactions_count: yield* ledger.countOpen(relayerNumber),
          ...(confirmed === undefined ? {} : { last_confirmed_transaction_timestamp: DateTime.makeUnsafe(confirmed) })
        }
      })

      /** The state of the last check, or that the first transaction waits although the check succeeded. */
      const healthOf = Effect.fnUntraced(function* (relayerNumber: number, { state: { status } }: Check) {
        if (status !== "healthy" && status !== "degraded") return status
        return Option.isSome(yield* ledger.firstWaiting(relayerNumber)) ? ("waiting" as const) : status
      })

      const show = Effect.fnUntraced(function* (stored: StoredRelayer, check: Check, seen: ChainSnapshot | undefined) {
        const relayer = stored.value
        const reading = seen === undefined ? check.reading : carry(check.reading, seen)
        const { failures: _, providers = [], ...amounts } = reading ?? { network_type: relayer.network_type }
        const read_at = seen?.balance === undefined ? check.read_at : yield* DateTime.now
        return {
          ...amounts,
          live: seen !== undefined && hasAnswered(seen),
          ...(read_at === undefined ? {} : { read_at }),
          paused: relayer.paused,
          system_disabled: relayer.system_disabled,
          ...(relayer.disabled_reason === undefined ? {} : { disabled_reason: relayer.disabled_reason }),
          health: yield* healthOf(stored.number, check),
          ...(check.checked_at === undefined ? {} : { last_check_at: check.checked_at }),
          next_check_at: check.next_check_at,
          ...(yield* transactionsOf(stored.number)),
          providers
        } as RelayerStatus
      })

      const status = Effect.fn("RelayerHealth.status")(function* (id: RelayerId) {
        const inspected = Effect.catchTag(inspect(id), "NotImplemented", () => Effect.succeedNone)
        const seen = Option.getOrUndefined(yield* inspected)
        return yield* show(yield* relayers.get(id), yield* find(id), seen)
      })

      const balance = Effect.fn("RelayerHealth.balance")(function* (id: RelayerId) {
        const seen = Option.getOrUndefined(yield* inspect(id))
        const found = seen && balanceOf(seen)
        if (seen === undefined || found === undefined) return yield* new BadGateway({ error: whyUnanswered(seen) })
        return { balance: found, unit: unitOf[seen.network_type] }
      })

      const check = Effect.fn("RelayerHealth.check")(function* (id: RelayerId) {
        const seen = yield* checks.now(id)
        return yield* show(yield* relayers.get(id), yield* find(id), seen)
      })

      /** Undefined: none waits, or the caller may not read transactions. */
      const frontOf = Effect.fnUntraced(function* (relayerNumber: number) {
        if (!Caller.hasScope(yield* Caller.current, "transactions:read")) return undefined
        const first = Option.getOrUndefined(yield* ledger.firstWaiting(relayerNumber))
        const why = first?.transaction.cause
        if (first === undefined || why === undefined) return undefined
        return {
          id: first.id,
          code: why.code,
          since: DateTime.makeUnsafe(first.transaction.causeSince),
          count: yield* repo.countWaiting(relayerNumber),
          words: networks.of(first.chain).rules.explain(why, false)
        }
      })

      /** Undefined: it gets none. */
      const topUpOf = Effect.fnUntraced(function* ({ policies }: Relayer, relayerNumber: number) {
        const topUp = policies?.top_up
        const found = topUp === undefined ? undefined : Option.getOrUndefined(yield* topUps.find(relayerNumber))
        if (topUp === undefined || found === undefined) return undefined
        const mayRead = Caller.hasScope(yield* Caller.current, "transactions:read")
        return topUpReportOf(topUp, {
          used: found.used,
          transactionId: found.is_open && mayRead ? found.transaction_id : undefined,
          code: found.code,
          since: found.code_since
        })
      })

      const explanation = Effect.fn("RelayerHealth.explain")(function* (id: RelayerId) {
        const { value: relayer, number } = yield* relayers.get(id)
        const { state: health, reading, next_check_at: next_at, since } = yield* find(id)
        const waiting = yield* ledger.largestShortage(number)
        const { network } = yield* targets.get(id)
        const channels = relayer.network_type === "stellar" ? yield* ledger.countChannelsOf({ relayer, network }) : 0
        const lane = Option.getOrUndefined(yield* ledger.laneOn({ relayer, network }))
        const code = lane?.code
        const delegation = lane && networks.of(lane.chain).rules.delegationOf?.(lane.lane)
        return explain({
          relayer,
          network,
          health,
          reading,
          next_at,
          since,
          waiting,
          front: yield* frontOf(number),
          channels,
          delegation,
          topUp: yield* topUpOf(relayer, number),
          isOtherChain: code === "chain_changed"
        })
      })

      const trend = Effect.fn("RelayerHealth.balances")(function* (id: RelayerId, query: BalanceTrendQuery) {
        const { value: relayer } = yield* relayers.get(id)
        const { reading, read_at } = yield* find(id)
        const stored = yield* balances.since(id, sinceOf(query, yield* Clock.currentTimeMillis))
        const balance = reading && balanceOf(reading)
        const newest = stored.at(-1)
        const readAt = read_at === undefined ? undefined : DateTime.toEpochMillis(read_at)
        const isLater = balance !== undefined && readAt !== undefined && (newest === undefined || readAt > newest.at)
        const readings = isLater ? [...stored, { at: readAt, balance }] : stored
        return trendOf(unitOf[relayer.network_type], readings, minBalanceOf(relayer.network_type, relayer.policies))
      })

      const funding = Effect.fn("RelayerHealth.funding")(function* (id: RelayerId, waiting: bigint) {
        const { value: relayer } = yield* relayers.get(id)
        return fundingOf(relayer, (yield* find(id)).reading, waiting)
      })

      return RelayerHealth.of({ status, balance, check, explain: explanation, balances: trend, funding })
    })
  )
}

// The health of a network's providers: its RPC URLs, and what the last checks of its relayers say about them.

const FoundCheck = Rows.withoutNulls(
  Schema.Struct({
    url: Schema.String,
    relayers: Schema.Int,
    failing: Schema.Int,
    since: Schema.optionalKey(Instant),
    checked_at: Schema.optionalKey(Instant),
    p50_ms: Schema.optionalKey(Schema.Int),
    p95_ms: Schema.optionalKey(Schema.Int),
    code: Schema.optionalKey(CheckCode),
    error: Schema.optionalKey(Schema.String),
    protocol_version: Schema.optionalKey(Schema.Int)
  })
)

const readFound = Rows.all(FoundCheck)

export const makeNetworkProviders = Effect.gen(function* () {
  const sql = yield* client
  const networks = yield* Networks

  const percentile = (share: number) =>
    sql`(percentile_disc(${share}) WITHIN GROUP (ORDER BY p.latency) FILTER (WHERE p.latency IS NOT NULL))`

  /** By masked URL. Two URLs with the same mask count as one provider. */
  const found = (type: string, name: string) =>
    sql`
      SELECT p.url, count(DISTINCT p.relayer_id)::float8 AS relayers,
        (count(DISTINCT p.relayer_id) FILTER (WHERE p.failed))::float8 AS failing,
        to_json(min(p.since) FILTER (WHERE p.failed)) #>> '{}' AS since, to_json(max(p.checked_at)) #>> '{}' AS checked_at,
        ${percentile(0.5)} AS p50_ms, ${percentile(0.95)} AS p95_ms,
        (array_agg(p.code ORDER BY p.checked_at DESC) FILTER (WHERE p.failed))[1] AS code,
        (array_agg(p.error ORDER BY p.checked_at DESC) FILTER (WHERE p.failed))[1] AS error,
        (array_agg(p.protocol ORDER BY p.checked_at DESC) FILTER (WHERE p.protocol IS NOT NULL))[1] AS protocol_version
      FROM (
        SELECT c.relayer_id, c.since, c.checked_at, e.value ->> 'url' AS url, (e.value ->> 'failed')::boolean AS failed,
          (e.value ->> 'protocol_version')::float8 AS protocol, (e.value ->> 'latency_ms')::float8 AS latency, e.value ->> 'code' AS code, e.value ->> 'error' AS error
        FROM (
          SELECT r.id FROM relayers r
          WHERE r.network_type = ${type} AND r.network = ${name} AND r.custom_rpc_urls IS NULL
          ORDER BY r.seq DESC LIMIT ${maxChecked}
        ) newest
        JOIN relayer_checks c ON c.relayer_id = newest.id
        CROSS JOIN LATERAL json_array_elements(c.reading -> 'providers') e
      ) p GROUP BY p.url`.pipe(Effect.flatMap(readFound), query("RelayerHealth.found"))

  /** Without a check of a relayer, the answer of now decides about the state. */
  const withProbe = (known: NetworkProvider, probed: ProbedProvider | undefined): NetworkProvider => {
    if (probed === undefined) return known
    const { breaker: _, failed, code, error, ...facts } = probed
    const state = failed ? "failing" : known.state === "unknown" ? "working" : known.state
    return {
      ...known,
      ...facts,
      state,
      ...present("code", code ?? known.code),
      ...present("error", error ?? known.error)
    }
  }

  const list = Effect.fn("RelayerHealth.list")(function* (
    id: NetworkId,
    { check = false }: { readonly check?: boolean } = {}
  ) {
    const { value: network } = yield* networks.get(id)
    const checked = new Map((yield* found(network.network_type, network.name)).map((row) => [row.url, row]))
    const probed = check ? yield* networks.probe(id) : []
    return network.rpc_urls.map((config, index): NetworkProvider => {
      const row = checked.get(config.url)
      const known: NetworkProvider =
        row === undefined
          ? { ...config, state: "unknown", relayers: 0, failing: 0 }
          : { ...row, ...config, state: row.failing > 0 ? "failing" : "working" }
      const shown = withProbe(known, probed[index])
      return { ...shown, ...present("warning", protocolWarning(shown.protocol_version)) }
    })
  })

  return { list }
})
