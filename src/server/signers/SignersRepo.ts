// The table `signers`.
import { Context, Effect, Layer, Option, Schema } from "effect"
import type { Page, PageRequest } from "../../domain/request/Page.ts"
import { Signer, SignerIdTaken } from "../../domain/signer/Signer.ts"
import type { SignerId } from "../../domain/signer/Signer.ts"
import { client, onConflict, onForeignKey, query } from "../../sql/Query.ts"
import * as Rows from "../../sql/Rows.ts"
import { selectPage } from "../../sql/SelectPage.ts"
import { selectRow } from "../../sql/SelectRow.ts"

const readSigner = Rows.first(Signer)
const readSealed = Rows.first(Schema.Struct({ sealed: Schema.Uint8Array }))

/** A signer with its sealed secret. */
export interface SealedSigner {
  readonly signer: Signer
  readonly sealed: Uint8Array
}

/** A relayer uses the signer. */
export class ReferencedByRelayer extends Schema.TaggedError<ReferencedByRelayer>()("ReferencedByRelayer", {}) {}

export class SignersRepo extends Context.Service<
  SignersRepo,
  {
    /** `column` gets the sealed secret. Absent: `key`. */
    insert(signer: Signer, sealed: Uint8Array, column?: "key" | "config"): Effect.Effect<void, SignerIdTaken>
    find(id: SignerId): Effect.Effect<Option.Option<Signer>>
    findSealed(id: SignerId): Effect.Effect<Option.Option<SealedSigner>>
    /** Returns the deleted signer. */
    delete(id: SignerId): Effect.Effect<Option.Option<Signer>, ReferencedByRelayer>
    /** Ids of the relayers that use the signer, at most `limit`. */
    users(id: SignerId, limit: number): Effect.Effect<ReadonlyArray<string>>
    page(request: PageRequest): Effect.Effect<Page<Signer>>
  }
>()("effect-relayer/server/signers/SignersRepo") {
  static readonly layer = Layer.effect(
    SignersRepo,
    Effect.gen(function* () {
      const sql = yield* client
      const columns = sql`t.id, t.type, t.config, jsonb_strip_nulls(jsonb_build_object(
        'evm', t.evm_address, 'solana', t.solana_address, 'stellar', t.stellar_address)) AS addresses`
      const selection = { table: "signers", columns, Row: Signer }

      const insert = (signer: Signer, sealed: Uint8Array, column: "key" | "config" = "key") =>
        sql`INSERT INTO signers ${sql.insert({
          id: signer.id,
          type: signer.type,
          config: sql`${JSON.stringify(signer.config)}::text::jsonb`,
          [`${column}_sealed`]: sealed,
          ...Object.fromEntries(
            Object.entries(signer.addresses).map(([networkType, address]) => [`${networkType}_address`, address])
          )
        })}`.pipe(
          onConflict("signers_pkey", () => new SignerIdTaken({})),
          Effect.asVoid,
          query("SignersRepo.insert")
        )

      const row = selectRow(sql, selection)
      const find = (id: SignerId) => row.find(id).pipe(query("SignersRepo.find"))

      const findSealed = (id: SignerId) =>
        sql`
          SELECT ${columns}, coalesce(t.key_sealed, t.config_sealed) AS sealed FROM signers t WHERE t.id = ${id}`.pipe(
          Effect.flatMap((rows) => Effect.all([readSigner(rows), readSealed(rows)])),
          Effect.map(([signer, row]) => Option.zipWith(signer, row, (signer, { sealed }) => ({ signer, sealed }))),
          query("SignersRepo.findSealed")
        )

      const remove = (id: SignerId) =>
        sql`DELETE FROM signers t WHERE t.id = ${id} RETURNING ${columns}`.pipe(
          Effect.flatMap(readSigner),
          onForeignKey("relayers_signer_id_fkey", () => new ReferencedByRelayer({})),
          query("SignersRepo.delete")
        )

      const users = (id: SignerId, limit: number) =>
        sql`SELECT id FROM relayers WHERE signer_id = ${id} ORDER BY seq LIMIT ${limit}`.pipe(
          Effect.flatMap(Rows.ids),
          query("SignersRepo.users")
        )

      const selectRows = selectPage(sql, selection)
      const page = (request: PageRequest) => selectRows(request).pipe(query("SignersRepo.page"))

      return SignersRepo.of({ insert, find, findSealed, delete: remove, users, page })
    })
  )
}
