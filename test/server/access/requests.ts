// Requests that manage API keys or use them.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as TestApi from "../../../testkit/TestApi.ts"

export interface Key {
  readonly id: string
  readonly key: string
  readonly name: string
  readonly scopes: ReadonlyArray<string>
  readonly relayer_ids?: ReadonlyArray<string>
  readonly expires_at?: string
  readonly previous_expires_at?: string
  readonly last_used_at?: string
  readonly last_used_from?: string
}

export const { call } = TestApi

export const make = Effect.fnUntraced(function* (body: object, options: TestApi.Call = {}) {
  const answer = yield* call("/api/v1/api-keys", { body: { name: "test", ...body }, ...options })
  assert.strictEqual(answer.status, 201, answer.text)
  return answer.json.data as Key
})

export const statusOf = (path: string, options?: TestApi.Call) =>
  Effect.map(call(path, options), ({ status }) => status)
