// The health of a network's providers: its RPC URLs, and what the last checks of its relayers say about them.
import { Effect, Schema } from "effect"
import { maxChecked } from "../../domain/network/NetworkProvider.ts"
import type { NetworkProvider } from "../../domain/network/NetworkProvider.ts"
import { present } from "../../domain/transaction/Presentation.ts"
import { CheckCode, protocolWarning } from "../../domain/chain/ChainSnapshot.ts"
import type { NetworkId } from "../../domain/network/Network.ts"
import { Instant } from "../../domain/request/Text.ts"
import { client, query } from "../../sql/Query.ts"
import * as Rows from "../../sql/Rows.ts"
import type { ProbedProvider } from "../chains/Inspection.ts"
import { Networks } from "../networks/Networks.ts"

const Found = Rows.withoutNulls(
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

const readFound = Rows.all(Found)

export const make = Effect.gen(function* () {
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
      ) p GROUP BY p.url`.pipe(Effect.flatMap(readFound), query("NetworkProviders.found"))

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

  const list = Effect.fn("NetworkProviders.list")(function* (
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
