// One relayer that tests change over HTTP.
import { Effect } from "effect"
import { evmRelayer, notification } from "../../../testkit/fixtures.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

export const path = "/api/v1/relayers/relayer-1"

export const patch = (body: unknown, headers: Record<string, string> = {}, at = path) =>
  Effect.flatMap(TestApi.TestApi, (api) => api.call(at, { method: "PATCH", body, headers }))

export const get = (at = path) => Effect.flatMap(TestApi.TestApi, (api) => api.call(at))

export const etag = Effect.map(get(), ({ headers }) => headers.get("etag"))

/** `relayer-1` at version 1. */
export const setUp = Effect.gen(function* () {
  yield* Prepared.references
  yield* Prepared.create("notifications", { ...notification, id: "notification-2" })
  yield* Prepared.create("relayers", evmRelayer)
})
