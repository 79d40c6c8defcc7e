// Starts the services that use secrets, and writes sealed rows for them.
import { Effect, Layer, Option, Redacted, Ref } from "effect"
import { SqlClient } from "effect/sql"
import { createHash } from "node:crypto"
import { Changes } from "../../../src/server/changes/Changes.ts"
import * as Lifecycle from "../../../src/server/lifecycle/Lifecycle.ts"
import { Audit } from "../../../src/server/audit/Audit.ts"
import { layerMasterKeyCheck, MasterKeys, MasterKeyStore } from "../../../src/server/masterKey/MasterKeys.ts"
import type { KeyStore } from "../../../src/server/masterKey/MasterKeys.ts"
import { sealedColumns } from "../../../src/server/masterKey/ProtectedRowsRepo.ts"
import { RowMacs, secretNames, Secrets } from "../../../src/server/secrets/Secrets.ts"
import type { KeyringKeys, SecretPlace } from "../../../src/server/secrets/Secrets.ts"
import * as TestDatabase from "../../../testkit/TestDatabase.ts"

/** On a database of its own. */
export const tested = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.provide(self, TestDatabase.layer, { local: true })

export const masterKey = (byte: number) => Redacted.make(new Uint8Array(32).fill(byte))

/** The id of a master key: the first four bytes of its SHA-256, in hex. */
export const keyIdOf = (key: Redacted.Redacted<Uint8Array>): string =>
  createHash("sha256").update(Redacted.value(key)).digest("hex").slice(0, 8)

/** As long as the shortest sealed value, and names the key: nothing opens it. */
export const sealedBy = (byte: number): Uint8Array =>
  new Uint8Array(Buffer.from(`03${keyIdOf(masterKey(byte))}`.padEnd(66, "0"), "hex"))

/** The first byte is that of the current key. */
export const keys = (current: number, ...others: ReadonlyArray<number>): KeyringKeys => ({
  current: masterKey(current),
  others: others.map(masterKey)
})

/** Runs `self` in a service of its own, on the database around it. */
export const withStart =
  (keys: KeyringKeys, store?: KeyStore) =>
  <A, E, R>(self: Effect.Effect<A, E, R>) =>
    Effect.provide(
      self,
      Layer.fresh(
        Layer.merge(MasterKeys.layer, layerMasterKeyCheck).pipe(
          Layer.provideMerge(Changes.layer),
          Layer.provideMerge(Audit.layer),
          Layer.provideMerge(Lifecycle.layer),
          Layer.provideMerge(RowMacs.layer),
          Layer.provideMerge(Secrets.layer(keys)),
          Layer.provide(Layer.succeed(MasterKeyStore, Option.fromUndefinedOr(store)))
        )
      )
    )

/** Keeps nothing but what it was last given. */
export const inMemory = Effect.map(Ref.make<ReadonlyArray<Redacted.Redacted<Uint8Array>>>([]), (kept) => ({
  kept: Ref.get(kept),
  store: { keep: (keys) => Ref.set(kept, keys), files: Effect.succeed([]) } satisfies KeyStore
}))

/** What `insertSigner` writes beside the secret. */
const context = { type: "plain", config: {}, addresses: {} }

export const signerPlace = (id: string): SecretPlace => ({ table: "signers", id, column: "key", context })

export const seal = (text: string, place: SecretPlace) =>
  Effect.flatMap(Secrets, (secrets) => secrets.seal(Redacted.make(text), place))

export const insertSigner = Effect.fnUntraced(function* (id: string, sealed: Uint8Array) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO signers ${sql.insert({ id, type: "plain", key_sealed: sealed })}`
})

export const ids = (count: number, prefix = "s") => Array.from({ length: count }, (_, n) => `${prefix}${n}`)

/** What `addSigners` makes signers hold. */
export const secretsOf = (...ids: ReadonlyArray<string>) => Object.fromEntries(ids.map((id) => [id, `secret of ${id}`]))

/** Each holds the secret `secret of` and its id. */
export const addSigners = (...ids: ReadonlyArray<string>) =>
  Effect.forEach(
    ids,
    (id) => Effect.flatMap(seal(`secret of ${id}`, signerPlace(id)), (sealed) => insertSigner(id, sealed)),
    { concurrency: 4 }
  )

export const updateSigner = Effect.fnUntraced(function* (id: string, text: string) {
  const sql = yield* SqlClient.SqlClient
  const sealed = yield* seal(text, signerPlace(id))
  yield* sql`UPDATE signers SET key_sealed = ${sealed} WHERE id = ${id}`
})

const signersKey = sealedColumns.find(({ sealed }) => sealed === "key_sealed")

/** What signers hold, by id. */
export const openSigners = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const secrets = yield* Secrets
  const rows = yield* sql<{ id: string; key_sealed: Uint8Array; context: unknown }>`
    SELECT id, key_sealed, ${sql.literal(signersKey?.context ?? "null")} AS context FROM signers ORDER BY id`
  const opened = yield* Effect.forEach(rows, ({ id, key_sealed, context }) =>
    Effect.map(
      secrets.open(key_sealed, { ...signerPlace(id), context }),
      (secret) => [id, Redacted.value(secret)] as const
    )
  )
  return Object.fromEntries(opened)
})

/** The keys that have a mark, as the bytes they were made of. */
export const markedKeys = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ key_id: string }>`SELECT key_id FROM master_key`
  return rows.map(({ key_id }) => [1, 2, 3, 4].find((byte) => keyIdOf(masterKey(byte)) === key_id) ?? key_id).toSorted()
})

/** How many secrets the service makes for itself at its start. A rotation re-wraps them, too. */
export const ownSecrets = secretNames.length

export const rotate = Effect.flatMap(MasterKeys, ({ rotate }) => rotate).pipe(
  Effect.map(({ key_id, rewrapped }) => ({ key_id, rewrapped }))
)
