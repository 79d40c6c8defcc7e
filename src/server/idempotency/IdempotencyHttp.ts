// The implementation of `Idempotency`.
import { Effect, Layer, Schema } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { Idempotency } from "../../api/Middleware.ts"
import { CurrentCaller } from "../../domain/access/Caller.ts"
import { BadRequest, IdempotencyKey } from "../../domain/request/Request.ts"
import { CurrentRequest } from "../responses/CurrentRequest.ts"
import { IdempotencyStore } from "./IdempotencyStore.ts"
import type { StoredResponse } from "./IdempotencyStore.ts"

const isKey = Schema.is(IdempotencyKey)

const malformed = BadRequest.of([{ field: "Idempotency-Key", message: "Expected 1 to 255 visible ASCII characters" }])

const bodyOf = ({ body }: HttpServerResponse.HttpServerResponse): string =>
  body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : ""

/** Only a success has taken effect. */
const toStore = (response: HttpServerResponse.HttpServerResponse) =>
  Effect.map(CurrentRequest, (current): StoredResponse | undefined =>
    response.status >= 200 && response.status < 300
      ? { status: response.status, headers: Object.fromEntries(current?.headers ?? []), body: bodyOf(response) }
      : undefined
  )

const replay = ({ status, headers, body }: StoredResponse) =>
  Effect.map(CurrentRequest, (current) => {
    for (const [name, value] of Object.entries(headers)) current?.headers.set(name, value)
    current?.ownHeaders.set("idempotency-replayed", "true")
    return HttpServerResponse.text(body, { status, contentType: "application/json" })
  })

export const IdempotencyHttp = Layer.effect(
  Idempotency,
  Effect.gen(function* () {
    const store = yield* IdempotencyStore
    return Idempotency.of(
      Effect.fnUntraced(function* (httpEffect) {
        const request = yield* HttpServerRequest.HttpServerRequest
        const key = request.headers["idempotency-key"]
        if (key === undefined) return yield* httpEffect
        if (!isKey(key)) return yield* malformed
        const { id: callerId } = yield* CurrentCaller
        const body = yield* Effect.orDie(request.text)
        const { method, url } = request
        const outcome = yield* store.once({ callerId, key, method, url, body }, httpEffect, toStore)
        return outcome._tag === "Stored" ? yield* replay(outcome.response) : outcome.result
      })
    )
  })
)
