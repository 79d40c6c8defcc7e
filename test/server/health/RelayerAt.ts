// A relayer with given RPC URLs, and calls of its health endpoints.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as TestApi from "../../../testkit/TestApi.ts"

let made = 0

/** Creates a relayer on sepolia with its own signer and these URLs. */
export const relayerAt = Effect.fnUntraced(function* (urls: ReadonlyArray<string>, policies: object = {}) {
  const api = yield* TestApi.TestApi
  const id = `health-${++made}`
  yield* api.call("/api/v1/signers", { body: { id, type: "plain" } })
  const body = {
    id,
    name: id,
    network: "sepolia",
    network_type: "evm",
    paused: false,
    signer_id: id,
    custom_rpc_urls: urls.map((url) => ({ url, weight: 100 })),
    policies
  }
  const created = yield* api.call("/api/v1/relayers", { body })
  assert.strictEqual(created.status, 201, created.text)
  const path = `/api/v1/relayers/${id}`
  return {
    id,
    path,
    get: (name: string) => api.call(`${path}/${name}`),
    check: (headers: Record<string, string> = {}) => api.call(`${path}/check`, { method: "POST", headers })
  }
})
