// Inserts into the table `relayers`, and what its columns have of a request.
import { Effect, Option, Schema } from "effect"
import { Hex } from "effect/encoding"
import { MaskedRpcConfig } from "../../domain/chain/Rpc.ts"
import type { NetworkId } from "../../domain/network/Network.ts"
import { EvmPolicy, SolanaPolicy, StellarPolicy } from "../../domain/relayer/Policy.ts"
import { RelayerIdTaken, RelayerIsChannel } from "../../domain/relayer/Relayer.ts"
import type { CreateRelayer, RelayerId } from "../../domain/relayer/Relayer.ts"
import { client, onConflict, onForeignKey, query } from "../../sql/Query.ts"
import * as Rows from "../../sql/Rows.ts"
import { unnestRows, versionColumn } from "../../sql/Rows.ts"
import type { UnnestRow } from "../../sql/Rows.ts"
import { StoredRelayer } from "./StoredRelayer.ts"
import type { StoredRow } from "./StoredRelayer.ts"

/** `JSON.stringify` of the encoded fields keeps the digits of amounts: they are raw JSON numbers. */
const encodePolicies = {
  evm: Schema.encodeUnknownEffect(EvmPolicy),
  solana: Schema.encodeUnknownEffect(SolanaPolicy),
  stellar: Schema.encodeUnknownEffect(StellarPolicy)
}
const encodeMasked = Schema.encodeUnknownEffect(Schema.Array(MaskedRpcConfig))

/** The columns of what can change. */
export const changeable = ({ name, paused, notification_id, network_type, policies }: CreateRelayer) =>
  Effect.map(policies === undefined ? Effect.undefined : encodePolicies[network_type](policies), (encoded) => ({
    name,
    paused,
    notification_id: notification_id ?? null,
    policies: Rows.jsonText(encoded)
  }))

export const shownUrls = (masked: ReadonlyArray<MaskedRpcConfig> | undefined) =>
  Effect.map(masked === undefined ? Effect.undefined : encodeMasked(masked), Rows.jsonText)

/** The signer, its address on the network type, the notification or the network does not exist. */
export class ReferenceMissing extends Schema.TaggedError<ReferenceMissing>()("ReferenceMissing", {}) {}

/** RPC URLs in the database: masked ones for responses, and sealed ones for calls. */
export interface StoredUrls {
  readonly masked: ReadonlyArray<MaskedRpcConfig> | undefined
  readonly sealed: Uint8Array | undefined
}

export interface NewRelayer {
  readonly id: RelayerId
  readonly request: CreateRelayer
  readonly urls: StoredUrls
  /** Absent if the network is built in. */
  readonly ownNetworkId: NetworkId | undefined
  readonly account: Account
}

/** The address that the signer has on the network type, and the MAC of the relayer with that address. */
interface Account {
  readonly address: string
  readonly mac: string
}

const givenOf = Effect.fnUntraced(function* ({ id, request, urls, ownNetworkId, account }: NewRelayer) {
  const { name, paused, notification_id, policies } = yield* changeable(request)
  const row: UnnestRow = {
    id,
    name,
    network_type: request.network_type,
    network: request.network,
    address: account.address,
    mac: account.mac,
    paused: String(paused),
    signer_id: request.signer_id,
    notification_id,
    policies,
    custom_rpc_urls: yield* shownUrls(urls.masked),
    custom_rpc_urls_sealed: urls.sealed === undefined ? null : `\\x${Hex.encode(urls.sealed)}`,
    own_network_id: ownNetworkId ?? null
  }
  return row
})

export const make = Effect.gen(function* () {
  const sql = yield* client
  const stored = Rows.unchecked<StoredRow>(sql)

  /** Waits for locks. A violated constraint is an error. */
  const alone = { lock: sql`FOR KEY SHARE`, isNotified: sql`true`, onTaken: sql`` }

  /** A relayer that would wait for a lock or violate a constraint is left out; the others are inserted. */
  const amongOthers = {
    lock: sql`FOR KEY SHARE SKIP LOCKED`,
    isNotified: sql`notification_id IS NULL OR notification_id IN (SELECT id FROM notified)`,
    onTaken: sql`ON CONFLICT DO NOTHING`
  }

  /** The ids have to differ. */
  const insertInto = Effect.fnUntraced(function* (
    relayers: ReadonlyArray<NewRelayer>,
    { lock, isNotified, onTaken }: typeof alone
  ) {
    const given = yield* Effect.forEach(relayers, givenOf)
    const rows = yield* stored`
      WITH given AS (SELECT * FROM ${unnestRows(sql, given)}),
      notified AS (SELECT id FROM notifications WHERE id IN (SELECT notification_id FROM given) ${lock})
      INSERT INTO relayers AS t (
        id, name, network_type, network, address, mac, paused, signer_id, notification_id,
        policies, custom_rpc_urls, custom_rpc_urls_sealed, own_network_id
      )
      SELECT id, name, network_type, network, address, mac, paused::boolean, signer_id, notification_id,
        policies::json, custom_rpc_urls::json, custom_rpc_urls_sealed::bytea, own_network_id
      FROM given WHERE (${isNotified}) AND NOT EXISTS (SELECT FROM channel_keys c WHERE c.address = given.address)
      ORDER BY n
      ${onTaken}
      RETURNING t.id, t.json, t.mac, ${versionColumn(sql)}`
    return new Map(rows.map((row) => [row.id, new StoredRelayer(row)]))
  })

  /** The signer is locked. Waits for transactions that lock the relayer's id or notification. */
  const insert = (relayer: NewRelayer) =>
    insertInto([relayer], alone).pipe(
      Effect.flatMap((made) => {
        const stored = made.get(relayer.id)
        // Only the address can keep it out: each other reason is a violated constraint.
        return stored === undefined ? Effect.fail(new RelayerIsChannel({})) : Effect.succeed(stored)
      }),
      onConflict("relayers_pkey", () => new RelayerIdTaken({})),
      onForeignKey("relayers_notification_id_fkey", () => new ReferenceMissing({})),
      onForeignKey("relayers_own_network_id_fkey", () => new ReferenceMissing({})),
      onForeignKey("relayers_signer_id_fkey", () => new ReferenceMissing({})),
      query("NewRelayersRepo.insert")
    )

  /**
   * Inserts many with one statement, in their order. Returns none for a relayer that would have to wait or that violates a
   * constraint: `insert` reports why.
   */
  const insertAll = (relayers: ReadonlyArray<NewRelayer>) => {
    if (relayers.length === 0) return Effect.succeed([])
    const first = new Map(relayers.toReversed().map((relayer) => [relayer.id, relayer]))
    const isFirst = (relayer: NewRelayer) => first.get(relayer.id) === relayer
    return insertInto(relayers.filter(isFirst), amongOthers).pipe(
      Effect.map((made) =>
        relayers.map((relayer) => Option.fromUndefinedOr(isFirst(relayer) ? made.get(relayer.id) : undefined))
      ),
      query("NewRelayersRepo.insertAll")
    )
  }

  return { insert, insertAll }
})
