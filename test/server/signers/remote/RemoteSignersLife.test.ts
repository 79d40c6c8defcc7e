// Signers whose key stays in a key service outlive a restart, a rotation of the master key, and a restore from a backup.
import { assert, it } from "@effect/vitest"
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Option, Redacted } from "effect"
import * as crypto from "node:crypto"
import { inject } from "vitest"
import { SignerId } from "../../../../src/domain/signer/Signer.ts"
import { networks } from "../../../../src/process/Networks.ts"
import * as Services from "../../../../src/server/Services.ts"
import { MasterKeys, MasterKeyStore } from "../../../../src/server/masterKey/MasterKeys.ts"
import { Signers } from "../../../../src/server/signers/Signers.ts"
import { clientConfig } from "../../../../testkit/Postgres.ts"
import * as Prepared from "../../../../testkit/Prepared.ts"
import * as AwsKms from "../../../../testkit/signers/AwsKms.ts"
import { StandIn } from "../../../../testkit/signers/StandIn.ts"
import * as Backups from "../../../../testkit/Backups.ts"
import * as TestApi from "../../../../testkit/TestApi.ts"
import * as TestDatabase from "../../../../testkit/TestDatabase.ts"

const signs = Effect.gen(function* () {
  const backend = yield* (yield* Signers).use(SignerId.make("hot"))
  assert.lengthOf(yield* backend.sign("secp256k1", crypto.randomBytes(32)), 65)
})

const nextKey = new Uint8Array(32).fill(9)

/** An instance that starts on the current database. */
const instance = (masterKey: Uint8Array, ...others: ReadonlyArray<Uint8Array>) =>
  Services.layerNoAuthentication({
    networks,
    masterKey: Redacted.make(masterKey),
    decryptionKeys: others.map((key) => Redacted.make(key)),
    jobs: false
  }).pipe(Layer.provide(Layer.succeed(MasterKeyStore, Option.none())), Layer.fresh)

it.effect("signers of key services sign after a restore, a restart with another master key, and its rotation", () =>
  Effect.gen(function* () {
    const { request } = yield* StandIn
    const lines = yield* Effect.gen(function* () {
      yield* Prepared.create("signers", { id: "hot", ...request("secp256k1") })
      return yield* Backups.snapshot
    }).pipe(Effect.provide(TestApi.layer(), { local: true }))

    const database = PgClient.layer({
      ...clientConfig(inject("postgres"), yield* TestDatabase.makeEmpty),
      maxConnections: 10
    })
    yield* Effect.gen(function* () {
      yield* Backups.restore(lines)
      yield* Effect.provide(
        Effect.gen(function* () {
          yield* signs
          yield* (yield* MasterKeys).rotate
          yield* signs
        }),
        instance(nextKey, TestApi.masterKey),
        { local: true }
      )
      yield* Effect.provide(signs, instance(nextKey), { local: true })
    }).pipe(Effect.provide(database, { local: true }))
  }).pipe(Effect.scoped, Effect.provide(AwsKms.layer))
)
