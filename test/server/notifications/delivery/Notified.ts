// Notifications with relayers that use them over HTTP, and their deliveries.
import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as DeliveryJob from "../../../../src/server/notifications/delivery/DeliveryJob.ts"
import { awaited } from "../../../../testkit/Awaited.ts"
import { evmRelayer, signer } from "../../../../testkit/fixtures.ts"
import * as Receiver from "../../../../testkit/Receiver.ts"
import * as TestApi from "../../../../testkit/TestApi.ts"
import { signingKey } from "./World.ts"

/** The API with the delivery job. */
export const live = Layer.provideMerge(DeliveryJob.layer, TestApi.layer())

export const call = TestApi.callBelow("/api/v1")

export interface Shown {
  readonly id: string
  readonly type: string
  readonly state: string
  readonly relayer_id?: string
  readonly body: string
  readonly attempts: ReadonlyArray<{ readonly outcome: string; readonly status?: number }>
}

export const post = (at: string, body: unknown = undefined, key?: string) =>
  call(at, { method: "POST", ...(body === undefined ? {} : { body }), ...(key === undefined ? {} : { key }) })

export const log = Effect.fnUntraced(function* (id: string, query = "", key?: string) {
  const answer = yield* call(`/notifications/${id}/deliveries${query}`, key === undefined ? {} : { key })
  assert.strictEqual(answer.status, 200, answer.text)
  return answer.json.data as ReadonlyArray<Shown>
})

export const until = (id: string, isSo: (shown: ReadonlyArray<Shown>) => boolean) => awaited(log(id), isSo)

let count = 0

/** A receiver, its notification, and relayers that use the notification. */
export const setUp = Effect.fnUntraced(function* (...relayers: ReadonlyArray<string>) {
  const receiver = yield* Receiver.make
  const id = `hook-${++count}`
  const made = yield* post("/notifications", { id, url: receiver.url, signing_key: signingKey })
  assert.strictEqual(made.status, 201, made.text)
  for (const name of relayers) {
    yield* post("/signers", { ...signer, id: `${id}-${name}` })
    const body = { ...evmRelayer, id: name, signer_id: `${id}-${name}`, notification_id: id }
    assert.strictEqual((yield* post("/relayers", body)).status, 201)
  }
  return { receiver, id }
})

export const allDone = (shown: ReadonlyArray<Shown>) => shown.every(({ state }) => state !== "pending")

export const key = Effect.fnUntraced(function* (body: object) {
  const made = yield* post("/api-keys", { name: "test", ...body })
  assert.strictEqual(made.status, 201, made.text)
  return String((made.json.data as { key?: unknown }).key)
})
