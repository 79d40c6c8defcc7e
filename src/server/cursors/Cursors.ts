// Cursors: opaque positions in a list that callers send back. They are authenticated, and belong to one list with its
// filters and its order.
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto"
import { BadRequest } from "../../domain/request/Request.ts"
import { Secrets } from "../secrets/Secrets.ts"
import { CursorsRepo } from "./CursorsRepo.ts"

const name = "cursors"
const place = { table: "service_secrets", id: name, column: "sealed" }

/** Bytes of the HMAC-SHA-256 that a cursor starts with. */
const macLength = 16

const mac = (secret: string, list: string, payload: string) =>
  createHmac("sha256", secret).update(`${list.length}:${list}${payload}`).digest().subarray(0, macLength)

const invalid = BadRequest.of([{ field: "cursor", message: "does not belong to this list; restart without a cursor" }])

export class Cursors extends Context.Service<
  Cursors,
  {
    /** `list` names the list, its filters and its order; `at` is JSON. */
    make(list: string, at: unknown): Effect.Effect<string>
    /** Returns the `at` of `make`. `BadRequest` if the cursor was not made for this list. */
    read(list: string, cursor: string): Effect.Effect<unknown, BadRequest>
    /** Creates the secret, so that no list has to write: the database may be read-only later. */
    readonly prepare: Effect.Effect<void>
  }
>()("effect-relayer/server/cursors/Cursors") {
  static readonly layerNoDeps = Layer.effect(
    Cursors,
    Effect.gen(function* () {
      const repo = yield* CursorsRepo
      const secrets = yield* Secrets

      let known: string | undefined

      /** All instances share it. The first one that needs it creates it. */
      const secret = Effect.suspend(() => (known === undefined ? load : Effect.succeed(known)))

      const keep = Effect.gen(function* () {
        const sealed = yield* secrets.seal(Redacted.make(randomBytes(32).toString("base64")), place)
        return yield* repo.keep(name, sealed)
      })

      const load = Effect.gen(function* () {
        const found = yield* repo.find(name)
        const kept = Option.isSome(found) ? found.value : yield* keep
        return (known = Redacted.value(yield* Effect.orDie(secrets.open(kept, place))))
      })

      const make = Effect.fnUntraced(function* (list: string, at: unknown) {
        const payload = JSON.stringify(at)
        return Buffer.concat([mac(yield* secret, list, payload), Buffer.from(payload)]).toString("base64url")
      })

      const read = Effect.fnUntraced(function* (list: string, cursor: string) {
        const bytes = Buffer.from(cursor, "base64url")
        const payload = bytes.subarray(macLength).toString()
        const given = bytes.subarray(0, macLength)
        const expected = mac(yield* secret, list, payload)
        if (given.length !== macLength || !timingSafeEqual(given, expected)) return yield* invalid
        return JSON.parse(payload) as unknown
      })

      return Cursors.of({ make, read, prepare: Effect.asVoid(secret) })
    })
  )

  static readonly layer = this.layerNoDeps.pipe(Layer.provide(CursorsRepo.layer))

  /** Creates the secret at the start. */
  static readonly layerPrepare = Layer.effectDiscard(
    Effect.flatMap(Cursors, ({ prepare }) => Effect.ignoreCause(prepare))
  ).pipe(Layer.provide(this.layer))
}
