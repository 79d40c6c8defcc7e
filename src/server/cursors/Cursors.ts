// Cursors: opaque positions in a list that callers send back. They are authenticated, and belong to one list with its
// filters and its order.
import { Context, Effect, Layer } from "effect"
import { createHmac, timingSafeEqual } from "node:crypto"
import { BadRequest } from "../../domain/request/Request.ts"
import { ServiceSecrets } from "../secrets/Secrets.ts"

const name = "cursors"

/** Bytes of the HMAC-SHA-256 that a cursor starts with. */
const macLength = 16

const mac = (secret: string, list: string, payload: string) =>
  createHmac("sha256", secret).update(`${list.length}:${list}${payload}`).digest().subarray(0, macLength)

const invalid = BadRequest.of([{ field: "cursor", message: "does not belong to this list; restart without a cursor" }])

const makeCursors = Effect.gen(function* () {
  const secret = (yield* ServiceSecrets).get(name)

  /** `list` names the list, its filters and its order; `at` is JSON. */
  const make = Effect.fnUntraced(function* (list: string, at: unknown) {
    const payload = JSON.stringify(at)
    return Buffer.concat([mac(yield* secret, list, payload), Buffer.from(payload)]).toString("base64url")
  })

  /** Returns the `at` of `make`. `BadRequest` if the cursor was not made for this list. */
  const read = Effect.fnUntraced(function* (list: string, cursor: string) {
    const bytes = Buffer.from(cursor, "base64url")
    const payload = bytes.subarray(macLength).toString()
    const given = bytes.subarray(0, macLength)
    const expected = mac(yield* secret, list, payload)
    if (given.length !== macLength || !timingSafeEqual(given, expected)) return yield* invalid
    return JSON.parse(payload) as unknown
  })

  return { make, read }
})

export class Cursors extends Context.Service<Cursors, Effect.Success<typeof makeCursors>>()(
  "effect-relayer/server/cursors/Cursors"
) {
  static readonly layer = Layer.effect(Cursors, makeCursors).pipe(Layer.provide(ServiceSecrets.layer))
}
