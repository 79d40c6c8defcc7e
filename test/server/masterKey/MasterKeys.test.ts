// Rotations of the master key, one at a time.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { MasterKeys, MasterKeyStore } from "../../../src/server/masterKey/MasterKeys.ts"
import type { KeyStore } from "../../../src/server/masterKey/MasterKeys.ts"
import { Secrets } from "../../../src/server/secrets/Secrets.ts"
import { afterTransaction } from "../../../testkit/Interference.ts"
import {
  addSigners,
  ids,
  inMemory,
  insertSigner,
  keyIdOf,
  keys,
  markedKeys,
  masterKey,
  openSigners,
  ownSecrets,
  rotate,
  seal,
  secretsOf,
  signerPlace,
  tested,
  withStart
} from "./Start.ts"

describe("a rotation", () => {
  it.effect("re-wraps values of every key, leaves one mark, and has nothing left to do", () =>
    Effect.gen(function* () {
      yield* withStart(keys(1))(addSigners("old", "older"))
      yield* Effect.gen(function* () {
        yield* addSigners("current")
        assert.deepStrictEqual(yield* rotate, { key_id: keyIdOf(masterKey(2)), rewrapped: 2 + ownSecrets })
        assert.deepStrictEqual(yield* rotate, { key_id: keyIdOf(masterKey(2)), rewrapped: 0 })
      }).pipe(withStart(keys(2, 1)))
      assert.deepStrictEqual(yield* markedKeys, [2])
      const opened = yield* withStart(keys(2))(openSigners)
      assert.deepStrictEqual(opened, secretsOf("old", "older", "current"))
    }).pipe(tested)
  )

  it.effect("re-wraps more values than fit in a batch, each once", () =>
    Effect.gen(function* () {
      const all = ids(1203)
      yield* withStart(keys(1))(addSigners(...all))
      assert.strictEqual((yield* withStart(keys(2, 1))(rotate)).rewrapped, 1203 + ownSecrets)
      assert.deepStrictEqual(yield* withStart(keys(2))(openSigners), secretsOf(...all))
    }).pipe(tested)
  )

  it.effect("re-wraps every column and binds each value to its place", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const places = {
        key: signerPlace("x"),
        config: { ...signerPlace("x"), column: "config" },
        channelKey: { table: "channel_keys", id: "x", column: "key" },
        signingKey: { table: "notifications", id: "x", column: "signing_key", context: { url: "" } },
        networkUrls: { table: "networks", id: "x", column: "rpc_urls" },
        relayerUrls: { table: "relayers", id: "x", column: "custom_rpc_urls" },
        body: { table: "idempotency_keys", id: "x", column: "body" },
        secret: { table: "service_secrets", id: "x", column: "sealed" }
      }
      yield* Effect.gen(function* () {
        const sealed = yield* Effect.all({
          key: seal("key", places.key),
          config: seal("config", places.config),
          channelKey: seal("channelKey", places.channelKey),
          signingKey: seal("signingKey", places.signingKey),
          networkUrls: seal("networkUrls", places.networkUrls),
          relayerUrls: seal("relayerUrls", places.relayerUrls),
          body: seal("body", places.body),
          secret: seal("secret", places.secret)
        })
        yield* sql`
          INSERT INTO signers (id, type, key_sealed, config_sealed) VALUES ('x', 'plain', ${sealed.key}, ${sealed.config})`
        yield* sql`INSERT INTO channel_keys (address, key_sealed) VALUES ('x', ${sealed.channelKey})`
        yield* sql`
          INSERT INTO notifications (id, type, url, signing_key_sealed) VALUES ('x', 'webhook', '', ${sealed.signingKey})`
        yield* sql`
          INSERT INTO networks (id, definition, rpc_urls_sealed) VALUES ('x', '{}', ${sealed.networkUrls})`
        yield* sql`
          INSERT INTO relayers (id, name, network_type, network, address, paused, signer_id, custom_rpc_urls_sealed)
          VALUES ('x', 'x', 'evm', 'x', 'x', false, 'x', ${sealed.relayerUrls})`
        yield* sql`
          INSERT INTO idempotency_keys (id, request_hash, status, headers, body_sealed)
          VALUES ('x', '', 201, '{}', ${sealed.body})`
        yield* sql`INSERT INTO service_secrets (name, sealed) VALUES ('x', ${sealed.secret})`
        // What is not set stays so.
        yield* sql`INSERT INTO notifications (id, type, url) VALUES ('y', 'webhook', '')`
      }).pipe(withStart(keys(1)))

      assert.strictEqual((yield* withStart(keys(2, 1))(rotate)).rewrapped, 8 + ownSecrets)
      const [row] = yield* sql<Record<string, Uint8Array>>`
        SELECT s.key_sealed AS key, s.config_sealed AS config, n.signing_key_sealed AS "signingKey",
          w.rpc_urls_sealed AS "networkUrls", r.custom_rpc_urls_sealed AS "relayerUrls", i.body_sealed AS body,
          v.sealed AS secret, c.key_sealed AS "channelKey"
        FROM signers s, channel_keys c, notifications n, networks w, relayers r, idempotency_keys i, service_secrets v
        WHERE n.id = 'x' AND v.name = 'x'`
      const opened = yield* Effect.gen(function* () {
        const secrets = yield* Secrets
        return yield* Effect.forEach(Object.entries(places), ([name, place]) =>
          Effect.map(secrets.open(row?.[name] ?? new Uint8Array(), place), Redacted.value)
        )
      }).pipe(withStart(keys(2)))
      assert.deepStrictEqual(opened, Object.keys(places))
    }).pipe(tested)
  )

  it.effect("makes the database refuse values that were sealed before it and are written after it", () =>
    Effect.gen(function* () {
      const sealed = yield* withStart(keys(1))(seal("too late", signerPlace("late")))
      yield* withStart(keys(2, 1))(rotate)
      const exit = yield* Effect.exit(insertSigner("late", sealed))
      assert.include(JSON.stringify(exit), "signers_key_sealed_key_id_fkey")
      assert.deepStrictEqual(yield* withStart(keys(2))(openSigners), {})
    }).pipe(tested)
  )

  it.effect("is not rolled back with the transaction of its caller", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* withStart(keys(1))(addSigners("a"))
      yield* Effect.gen(function* () {
        const failed = Effect.andThen(Effect.andThen(addSigners("gone"), rotate), Effect.fail("undone"))
        assert.isTrue(Exit.isFailure(yield* Effect.exit(sql.withTransaction(failed))))
      }).pipe(withStart(keys(2, 1)))
      assert.deepStrictEqual(yield* withStart(keys(2))(openSigners), secretsOf("a"))
    }).pipe(tested)
  )

  it.effect("stops at a value that cannot be opened, and keeps all marks until that value is deleted", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* withStart(keys(1))(addSigners("a", "b"))
      yield* sql`UPDATE signers SET key_sealed = set_byte(key_sealed, 20, get_byte(key_sealed, 20) # 1) WHERE id = 'b'`
      yield* Effect.gen(function* () {
        const error = yield* Effect.flip(rotate)
        assert.deepInclude(error, { _tag: "SecretUnreadable", place: "signers.key" })
        assert.deepStrictEqual(yield* markedKeys, [1, 2])
        yield* sql`DELETE FROM signers WHERE id = 'b'`
        assert.strictEqual((yield* rotate).rewrapped, 1 + ownSecrets)
      }).pipe(withStart(keys(2, 1)))
      assert.deepStrictEqual(yield* withStart(keys(2))(openSigners), secretsOf("a"))
    }).pipe(tested)
  )

  it.effect("is refused by an instance that does not know the key of another instance", () =>
    Effect.gen(function* () {
      yield* Effect.gen(function* () {
        yield* addSigners("a")
        yield* withStart(keys(3, 2, 1))(Effect.void)
        assert.strictEqual((yield* Effect.flip(rotate))._tag, "WrongMasterKey")
      }).pipe(withStart(keys(2, 1)))
      assert.deepStrictEqual(yield* markedKeys, [2, 3])
    }).pipe(tested)
  )

  it.effect("uses a new key without a restart if there is a store, which then contains only that key", () =>
    Effect.gen(function* () {
      const { kept, store } = yield* inMemory
      yield* Effect.gen(function* () {
        yield* addSigners("a")
        const first = yield* rotate
        assert.strictEqual(first.rewrapped, 1 + ownSecrets)
        yield* addSigners("b")
        const second = yield* rotate
        assert.deepStrictEqual(second, { key_id: second.key_id, rewrapped: 2 + ownSecrets })
        assert.notStrictEqual(second.key_id, first.key_id)
        assert.deepStrictEqual((yield* kept).map(keyIdOf), [second.key_id])
        assert.deepStrictEqual(yield* markedKeys, [second.key_id])
        assert.deepStrictEqual(yield* openSigners, secretsOf("a", "b"))
      }).pipe(withStart(keys(1), store))
    }).pipe(tested)
  )

  it.effect("stores every key that a value may be sealed with until it is done, and no other key", () =>
    Effect.gen(function* () {
      const keptIds: Array<ReadonlyArray<string>> = []
      const store: KeyStore = {
        keep: (keys) => Effect.sync(() => void keptIds.push(keys.map(keyIdOf))),
        files: Effect.succeed([])
      }
      const [id1, id2] = [keyIdOf(masterKey(1)), keyIdOf(masterKey(2))]
      yield* withStart(keys(1))(addSigners("a"))
      yield* withStart(keys(2, 1, 4), store)(Effect.andThen(rotate, rotate))
      const [id3 = "", id5 = ""] = [keptIds[0]?.[0], keptIds[2]?.[0]]
      assert.deepStrictEqual(keptIds, [[id3, id2, id1], [id3], [id5, id3], [id5]])
    }).pipe(tested)
  )

  it.effect("keeps a key whose mark another instance added meanwhile", () =>
    Effect.gen(function* () {
      const { kept, store } = yield* inMemory
      let lost = false
      const broken = Effect.map(SqlClient.SqlClient, (sql) => afterTransaction(sql, breaking))
      /** As if the connection broke while the first mark was committed. */
      const breaking = Effect.suspend(() => {
        if (lost) return Effect.void
        lost = true
        return Effect.die(new Error("lost"))
      })
      yield* Effect.gen(function* () {
        yield* addSigners("a")
        yield* Effect.gen(function* () {
          const { rotate } = yield* MasterKeys
          assert.isTrue(Exit.isFailure(yield* Effect.exit(rotate)))
          assert.strictEqual((yield* rotate).rewrapped, 1 + ownSecrets)
        }).pipe(
          Effect.provide(
            Layer.fresh(
              MasterKeys.layer.pipe(
                Layer.provide(Layer.succeed(MasterKeyStore, Option.some(store))),
                Layer.provide(Layer.effect(SqlClient.SqlClient, broken))
              )
            )
          )
        )
      }).pipe(withStart(keys(1)))
      const [current = masterKey(1), ...rest] = yield* kept
      assert.isEmpty(rest)
      assert.deepStrictEqual(yield* withStart({ current })(openSigners), secretsOf("a"))
    }).pipe(tested)
  )
})
