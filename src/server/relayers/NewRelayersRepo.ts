// How relayers get into the table `relayers`: with all that is recorded of them, by one statement.
import { Context, Effect, Layer, Option, Schema } from "effect"
import { Hex } from "effect/encoding"
import type { Statement } from "effect/sql"
import type { NetworkId } from "../../domain/network/Network.ts"
import { RelayerIdTaken } from "../../domain/relayer/Relayer.ts"
import type { CreateRelayer, RelayerId } from "../../domain/relayer/Relayer.ts"
import type { MaskedRpcConfig } from "../../domain/chain/Rpc.ts"
import * as UnnestRows from "../../sql/batch/UnnestRows.ts"
import { client, onConflict, onForeignKey, query } from "../../sql/Query.ts"
import { changeable, shownUrls } from "./RelayerRow.ts"
import { StoredRelayer } from "./StoredRelayer.ts"
import type { StoredRow } from "./StoredRelayer.ts"

/** The signer already serves a relayer on that network. */
export class SignerTaken extends Schema.TaggedError<SignerTaken>()("SignerTaken", {}) {}

/** The signer, its address on that network type, the notification or the network does not exist. */
export class ReferenceMissing extends Schema.TaggedError<ReferenceMissing>()("ReferenceMissing", {}) {}

/** RPC URLs as they are stored: what is shown, and what is called. */
export interface StoredUrls {
  readonly masked: ReadonlyArray<MaskedRpcConfig> | undefined
  readonly sealed: Uint8Array | undefined
}

export interface NewRelayer {
  readonly id: RelayerId
  readonly request: CreateRelayer
  readonly urls: StoredUrls
  /** The network, where it is not built in. */
  readonly ownNetworkId: NetworkId | undefined
  /** What its records say besides: further columns of `made`, the same for all relayers of a statement. */
  readonly making: UnnestRows.Row
}

/**
 * What is recorded of the relayers in `made` (`id`, `json`, `notification_id`, the columns of `making`): further parts of the
 * statement that makes them, by their names there.
 */
export type Records = Readonly<Record<string, Statement.Fragment>>

const givenOf = Effect.fnUntraced(function* ({ id, request, urls, ownNetworkId, making }: NewRelayer) {
  const { name, paused, notification_id, policies } = yield* changeable(request)
  const row: UnnestRows.Row = {
    id,
    name,
    network_type: request.network_type,
    network: request.network,
    paused: String(paused),
    signer_id: request.signer_id,
    notification_id,
    policies,
    custom_rpc_urls: yield* shownUrls(urls.masked),
    custom_rpc_urls_sealed: urls.sealed === undefined ? null : `\\x${Hex.encode(urls.sealed)}`,
    own_network_id: ownNetworkId ?? null,
    ...making
  }
  return row
})

export class NewRelayersRepo extends Context.Service<
  NewRelayersRepo,
  {
    /** One statement: the relayer is there whole, with its signer's address and its records, or not at all. */
    insert(
      relayer: NewRelayer,
      records: Records
    ): Effect.Effect<StoredRelayer, RelayerIdTaken | SignerTaken | ReferenceMissing>
    /** The same of many, in their order; none for one that cannot be made: `insert` says why. */
    insertAll(
      relayers: ReadonlyArray<NewRelayer>,
      records: Records
    ): Effect.Effect<ReadonlyArray<Option.Option<StoredRelayer>>>
  }
>()("effect-relayer/server/relayers/NewRelayersRepo") {
  static readonly layer = Layer.effect(
    NewRelayersRepo,
    Effect.gen(function* () {
      const sql = yield* client
      const all = sql.join("", false)

      /** Waits for whoever holds what it refers to; a constraint says what is wrong with it. */
      const alone = { lock: sql`FOR KEY SHARE`, isNotified: sql`true`, onTaken: sql`` }

      /** Left out where it would wait, or violate a constraint: the others are made. */
      const amongOthers = {
        lock: sql`FOR KEY SHARE SKIP LOCKED`,
        isNotified: sql`notification_id IS NULL OR notification_id IN (SELECT id FROM notified)`,
        onTaken: sql`ON CONFLICT DO NOTHING`
      }

      /** Of different ids. */
      const insertInto = Effect.fnUntraced(function* (
        relayers: ReadonlyArray<NewRelayer>,
        records: Records,
        { lock, isNotified, onTaken }: typeof alone
      ) {
        const given = yield* Effect.forEach(relayers, givenOf)
        const making = Object.keys(relayers[0]?.making ?? {}).map((name) => sql`, given.${sql(name)}`)
        const parts = Object.entries(records).map(([name, part]) => sql`, ${sql(name)} AS (${part})`)
        const rows = yield* sql<StoredRow>`
          WITH given AS (SELECT * FROM ${UnnestRows.make(sql, given)}),
          signing AS (SELECT * FROM signers WHERE id IN (SELECT signer_id FROM given) ${lock}),
          notified AS (SELECT id FROM notifications WHERE id IN (SELECT notification_id FROM given) ${lock}),
          inserted AS (
            INSERT INTO relayers AS t (
              id, name, network_type, network, address, paused, signer_id, notification_id,
              policies, custom_rpc_urls, custom_rpc_urls_sealed, own_network_id
            )
            SELECT given.id, given.name, network_type, network, address, paused::boolean, signer_id, notification_id,
              policies::json, custom_rpc_urls::json, custom_rpc_urls_sealed::bytea, own_network_id
            FROM given JOIN signing ON signing.id = signer_id
            CROSS JOIN LATERAL (SELECT CASE network_type
              WHEN 'evm' THEN evm_address WHEN 'solana' THEN solana_address ELSE stellar_address END
            ) of_signer (address)
            WHERE address IS NOT NULL AND (${isNotified})
            ORDER BY n
            ${onTaken}
            RETURNING t.id, t.json, t.version, t.notification_id
          ),
          made AS (SELECT inserted.* ${all(making)} FROM inserted JOIN given USING (id) ORDER BY n)
          ${all(parts)}
          SELECT id, json, version FROM made`
        return new Map(rows.map((row) => [row.id, new StoredRelayer(row)]))
      })

      const insert = (relayer: NewRelayer, records: Records) =>
        insertInto([relayer], records, alone).pipe(
          Effect.flatMap((made) => {
            const stored = made.get(relayer.id)
            return stored === undefined ? Effect.fail(new ReferenceMissing({})) : Effect.succeed(stored)
          }),
          onConflict("relayers_pkey", () => new RelayerIdTaken({})),
          onConflict("relayers_signer_network_key", () => new SignerTaken({})),
          onForeignKey("relayers_notification_id_fkey", () => new ReferenceMissing({})),
          onForeignKey("relayers_own_network_id_fkey", () => new ReferenceMissing({})),
          onForeignKey("relayers_signer_id_fkey", () => new ReferenceMissing({})),
          query("NewRelayersRepo.insert")
        )

      const insertAll = (relayers: ReadonlyArray<NewRelayer>, records: Records) => {
        const first = new Map(relayers.toReversed().map((relayer) => [relayer.id, relayer]))
        const isFirst = (relayer: NewRelayer) => first.get(relayer.id) === relayer
        return insertInto(relayers.filter(isFirst), records, amongOthers).pipe(
          Effect.map((made) =>
            relayers.map((relayer) => Option.fromUndefinedOr(isFirst(relayer) ? made.get(relayer.id) : undefined))
          ),
          query("NewRelayersRepo.insertAll")
        )
      }

      return NewRelayersRepo.of({ insert, insertAll })
    })
  )
}
