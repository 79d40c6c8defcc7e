// Random secrets that the service makes for itself, such as the key of cursors. All instances share them.
//
// Each is committed by itself before anything is made with it, and this process remembers only what is committed. A secret that is
// stored in the transaction of a request is gone if that is rolled back: no other process could verify what was made with it.
import { Context, Duration, Effect, Exit, Layer, Redacted, Schema } from "effect"
import type { Scope } from "effect"
import { randomBytes } from "node:crypto"
import { client, query } from "../../sql/Query.ts"
import * as Rows from "../../sql/Rows.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { Secrets } from "./Secrets.ts"

// The table `service_secrets`.

const SecretRow = Schema.Struct({ name: Schema.String, sealed: Schema.Uint8Array })
const readFound = Rows.all(SecretRow)
const readKept = Rows.one(SecretRow)

const makeServiceSecretsRepo = Effect.gen(function* () {
  const sql = yield* client

  /** The sealed secrets by name. Names without a secret are left out. */
  const find = (names: ReadonlyArray<string>) =>
    sql`SELECT name, sealed FROM service_secrets WHERE name = ANY(${names}::text[])`.pipe(
      Effect.flatMap(readFound),
      Effect.map((rows) => new Map(rows.map(({ name, sealed }) => [name, sealed]))),
      query("ServiceSecrets.find")
    )

  /** Stores `sealed` unless a secret is stored already; returns the stored one. */
  const keep = (name: string, sealed: Uint8Array) =>
    sql`
      INSERT INTO service_secrets (name, sealed) VALUES (${name}, ${sealed})
      ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING name, sealed`.pipe(
      Effect.flatMap(readKept),
      Effect.map((row) => row.sealed),
      query("ServiceSecrets.keep")
    )

  return { find, keep }
})

/** All of them are created at the start, so that no request has to store one. */
export const secretNames = ["audit_checkpoints", "configuration", "cursors", "idempotency", "row_macs"] as const
export type SecretName = (typeof secretNames)[number]

/** The secrets are compared with the stored ones this often: the database may have been restored, or a replica promoted. */
const interval = Duration.seconds(10)

const place = (name: string) => ({ table: "service_secrets", id: name, column: "sealed" })

const random = () => Redacted.make(randomBytes(32).toString("base64"))

export class ServiceSecrets extends Context.Service<
  ServiceSecrets,
  {
    /**
     * 256 random bits as base64. Before the start, or if the stored value could not be opened at the start, it is read each time on the
     * connection of the caller, or stored in the transaction of the caller, and never remembered.
     */
    get(name: SecretName): Effect.Effect<string>
    /** Stores `own` unless an instance has stored a secret of this name. Returns the stored one. Never part of the caller's transaction. */
    share(name: string, own: Redacted.Redacted): Effect.Effect<Redacted.Redacted>
    /**
     * Remembers the stored secrets, and creates those that do not exist. A secret that is remembered but not stored any more is stored
     * again: this process has made rows with it. Never part of the caller's transaction.
     */
    readonly load: Effect.Effect<void>
    /** Loads the secrets, and then again and again until the scope closes. The database has to accept what the service seals. */
    readonly start: Effect.Effect<void, never, Scope.Scope>
  }
>()("effect-relayer/server/secrets/ServiceSecrets") {
  static readonly layer = Layer.effect(
    ServiceSecrets,
    Effect.gen(function* () {
      const repo = yield* makeServiceSecretsRepo
      const secrets = yield* Secrets
      const apart = yield* Transaction.apart
      const known = new Map<SecretName, string>()
      /** Reported once. */
      const unreadable = new Set<SecretName>()

      const keep = Effect.fnUntraced(function* (name: string, own: Redacted.Redacted) {
        return yield* repo.keep(name, yield* secrets.seal(own, place(name)))
      })

      const stored = Effect.fnUntraced(function* (name: string, own: Redacted.Redacted) {
        const found = (yield* repo.find([name])).get(name)
        return yield* Effect.orDie(secrets.open(found ?? (yield* keep(name, own)), place(name)))
      })

      const get = (name: SecretName) =>
        Effect.suspend(() => {
          const secret = known.get(name)
          return secret === undefined ? Effect.map(stored(name, random()), Redacted.value) : Effect.succeed(secret)
        })

      const loadOne = Effect.fnUntraced(function* (name: SecretName, found: Uint8Array | undefined) {
        const before = known.get(name)
        const own = before === undefined ? random() : Redacted.make(before)
        if (found === undefined && before !== undefined) {
          yield* Effect.annotateLogs(
            Effect.logWarning("a secret of the service is not in the database any more: it is stored again"),
            { name }
          )
        }
        const opened = yield* Effect.exit(secrets.open(found ?? (yield* keep(name, own)), place(name)))
        if (Exit.isFailure(opened)) {
          // Another instance may have sealed it with a key that this one does not know. Then this one goes on with what it remembers.
          if (before !== undefined || unreadable.has(name)) return
          unreadable.add(name)
          return yield* Effect.annotateLogs(Effect.logWarning("a secret of the service cannot be opened"), { name })
        }
        const secret = Redacted.value(opened.value)
        if (before !== undefined && before !== secret) {
          yield* Effect.annotateLogs(
            Effect.logWarning("a secret of the service is another one in the database: this process uses that one now"),
            { name }
          )
        }
        known.set(name, secret)
      })

      const load = Effect.gen(function* () {
        const found = yield* repo.find(secretNames)
        yield* Effect.forEach(secretNames, (name) => loadOne(name, found.get(name)), { discard: true })
      }).pipe(apart, Effect.withSpan("ServiceSecrets.load"))

      const again = Effect.ignoreCause(Effect.delay(load, interval), {
        log: "Debug",
        message: "cannot compare the secrets of the service"
      })
      const start = Effect.andThen(load, Effect.asVoid(Effect.forkScoped(Effect.forever(again))))

      return ServiceSecrets.of({ get, share: (name, own) => apart(stored(name, own)), load, start })
    })
  )
}
