// The table `signers`.
import { Effect, Option, Schema } from "effect"
import type { PageRequest } from "../../domain/request/Page.ts"
import { isRemote, Signer, SignerDisabledReason, SignerIdTaken, SignerKeyTaken } from "../../domain/signer/Signer.ts"
import type { RemoteSigner, SignerId } from "../../domain/signer/Signer.ts"
import { client, onConflict, onForeignKey, query } from "../../sql/Transaction.ts"
import * as Rows from "../../sql/Rows.ts"
import { amongAll, managedBy, selectPage, selectRow } from "../../sql/Rows.ts"
import type { Ids } from "../../sql/Rows.ts"

const Row = Schema.Struct({ signer: Signer, mac: Schema.NullOr(Schema.String) })

/** A signer as it is stored, before its MAC is verified. */
export type StoredSigner = typeof Row.Type

const SealedRow = Schema.Struct({ signer: Signer, sealed: Schema.Uint8Array })

/** A signer with its sealed secret. The secret is bound to the rest of the signer, which needs no other verification. */
export type SealedSigner = typeof SealedRow.Type

const encodeReason = Schema.encodeSync(Schema.fromJsonString(SignerDisabledReason))

const readSigner = Rows.first(Row)
const readSigners = Rows.all(Row)
const readSealed = Rows.first(SealedRow)
const readAllSealed = Rows.all(SealedRow)

/** What a signer is created with besides its shown fields. `column` gets the sealed secret. */
export interface NewSigner extends StoredSigner {
  readonly sealed: Uint8Array
  readonly column: "key" | "config"
}

/** A relayer uses the signer. */
class ReferencedByRelayer extends Schema.TaggedError<ReferencedByRelayer>()("ReferencedByRelayer", {}) {}

export const make = Effect.gen(function* () {
  const sql = yield* client
  const shown = sql`jsonb_build_object('id', t.id, 'type', t.type, 'config', t.config, 'addresses', jsonb_strip_nulls(
    jsonb_build_object('evm', t.evm_address, 'solana', t.solana_address, 'stellar', t.stellar_address)))
    || jsonb_strip_nulls(
      jsonb_build_object('curve', t.curve, 'public_key', t.public_key, 'disabled_reason', t.disabled_reason,
        'managed_by', ${managedBy(sql, "signers")})) AS signer`
  const columns = sql`${shown}, t.mac`
  const selection = { table: "signers", columns, Row }

  const insert = ({ signer, mac, sealed, column }: NewSigner) =>
    sql`INSERT INTO signers ${sql.insert({
      id: signer.id,
      type: signer.type,
      config: sql`${JSON.stringify(signer.config)}::text::jsonb`,
      [`${column}_sealed`]: sealed,
      mac,
      ...(isRemote(signer) ? { curve: signer.curve, public_key: signer.public_key } : {}),
      ...Object.fromEntries(
        Object.entries(signer.addresses).map(([networkType, address]) => [`${networkType}_address`, address])
      )
    })}`.pipe(
      onConflict("signers_pkey", () => new SignerIdTaken({})),
      onConflict("signers_public_key_key", () => new SignerKeyTaken({})),
      Effect.asVoid,
      query("SignersRepo.insert")
    )

  /** Replaces the login. False if the signer was deleted or changed since it was read: it has another MAC. */
  const replaceCredentials = ({ signer, mac, sealed, column }: NewSigner, before: StoredSigner) =>
    sql`
      UPDATE signers SET config = ${JSON.stringify(signer.config)}::text::jsonb,
        ${sql(`${column}_sealed`)} = ${sealed}, mac = ${mac}
      WHERE id = ${signer.id} AND mac IS NOT DISTINCT FROM ${before.mac} RETURNING id`.pipe(
      Effect.map((rows) => rows.length === 1),
      query("SignersRepo.replaceCredentials")
    )

  const row = selectRow(sql, selection)
  const find = (id: SignerId) => row.find(id).pipe(query("SignersRepo.find"))

  const findSealed = (id: SignerId) =>
    sql`
      SELECT ${shown}, coalesce(t.key_sealed, t.config_sealed) AS sealed FROM signers t WHERE t.id = ${id}`.pipe(
      Effect.flatMap(readSealed),
      query("SignersRepo.findSealed")
    )

  /** In the order of ids. `lock`: until the transaction ends. */
  const findAllSealed = (ids: Ids, lock: boolean) =>
    sql`
      SELECT ${shown}, coalesce(t.key_sealed, t.config_sealed) AS sealed FROM signers t WHERE ${amongAll(sql, ids)}
      ORDER BY t.id ${lock ? sql`FOR UPDATE` : sql``}`.pipe(
      Effect.flatMap(readAllSealed),
      query("SignersRepo.findAllSealed")
    )

  /** Locks the signers against deletion. If `wait` is false, signers that are being deleted are left out. */
  const hold = (ids: ReadonlyArray<SignerId>, wait: boolean) =>
    sql`
      SELECT ${columns} FROM signers t WHERE t.id = ANY(${ids}::text[])
      FOR KEY SHARE ${wait ? sql`` : sql`SKIP LOCKED`}`.pipe(Effect.flatMap(readSigners), query("SignersRepo.hold"))

  /** Returns the disabled signer. None if no signer with this id has this key, or if it is disabled already. */
  const disable = ({ id, public_key }: RemoteSigner, reason: SignerDisabledReason) =>
    sql`
      UPDATE signers t SET disabled_reason = ${encodeReason(reason)}::text::jsonb
      WHERE t.id = ${id} AND t.public_key = ${public_key} AND t.disabled_reason IS NULL RETURNING ${columns}`.pipe(
      Effect.flatMap(readSigner),
      Effect.map(Option.map(({ signer }) => signer)),
      query("SignersRepo.disable")
    )

  /** Returns the enabled signer. None if no signer with this id has this key, or if it is not disabled for the same reason any more. */
  const enable = ({ id, public_key, disabled_reason }: RemoteSigner) =>
    disabled_reason === undefined
      ? Effect.succeedNone
      : sql`
      UPDATE signers t SET disabled_reason = NULL
      WHERE t.id = ${id} AND t.public_key = ${public_key}
        AND t.disabled_reason = ${encodeReason(disabled_reason)}::text::jsonb RETURNING ${columns}`.pipe(
          Effect.flatMap(readSigner),
          Effect.map(Option.map(({ signer }) => signer)),
          query("SignersRepo.enable")
        )

  /** Returns the deleted signer. */
  const remove = (id: SignerId) =>
    sql`DELETE FROM signers t WHERE t.id = ${id} RETURNING ${columns}`.pipe(
      Effect.flatMap(readSigner),
      Effect.map(Option.map(({ signer }) => signer)),
      onForeignKey("relayers_signer_id_fkey", () => new ReferencedByRelayer({})),
      query("SignersRepo.delete")
    )

  /** Ids of the relayers that use the signer, at most `limit`. */
  const users = (id: SignerId, limit: number) =>
    sql`SELECT id FROM relayers WHERE signer_id = ${id} ORDER BY seq LIMIT ${limit}`.pipe(
      Effect.flatMap(Rows.ids),
      query("SignersRepo.users")
    )

  const selectRows = selectPage(sql, selection)
  const page = (request: PageRequest) => selectRows(request).pipe(query("SignersRepo.page"))

  return {
    insert,
    replaceCredentials,
    find,
    findSealed,
    findAllSealed,
    hold,
    disable,
    enable,
    delete: remove,
    users,
    page
  }
})
