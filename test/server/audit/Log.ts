// What the tests of the audit log have in common: every kind of change, and the log as it is read.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { evmRelayer, notification, signer } from "../../../testkit/fixtures.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

export interface Entry {
  readonly position: number
  readonly key_id: string
  readonly action: string
  readonly resource_id: string
  readonly request_id: string
  readonly client_address: string
  readonly before?: object
  readonly after?: object
  readonly hash: string
}

export const { call } = TestApi

/** Creates a signer, which adds one record to the audit log. */
export const createSigner = (id: string) => call("/api/v1/signers", { body: { ...signer, id } })

export const records = Effect.fnUntraced(function* (query = "") {
  const answer = yield* call(`/api/v1/audit?order=oldest&limit=1000${query}`)
  assert.strictEqual(answer.status, 200, answer.text)
  return answer.json.data as ReadonlyArray<Entry>
})

export interface Verification {
  readonly valid: boolean
  readonly checked: number
  readonly broken_at?: number
  readonly next?: string
  readonly head: { readonly position: number; readonly hash: string }
}

export const verify = (query = "") =>
  Effect.map(call(`/api/v1/audit/verify${query}`), ({ json }) => json.data as Verification)

/** Verifies the whole log. A request ends after a time, on a busy machine before the end of the log, and says where the next one continues. */
export const verifyAll = Effect.gen(function* () {
  let last: Verification = yield* verify()
  let checked = last.checked
  while (last.next !== undefined) {
    last = yield* verify(`?from=${last.next}`)
    checked += last.checked
  }
  return { ...last, checked }
})

export const signingKey = "a-signing-key-that-no-record-may-have"

/** Every kind of change that the API allows. */
export const changes: ReadonlyArray<readonly [action: string, path: string, call: TestApi.Call]> = [
  ["signer.created", "/api/v1/signers", { body: { ...signer, config: { key: "01".repeat(32) } } }],
  ["notification.created", "/api/v1/notifications", { body: { ...notification, signing_key: signingKey } }],
  [
    "network.created",
    "/api/v1/networks",
    {
      body: {
        name: "mine",
        network_type: "evm",
        from: "sepolia",
        chain_id: 7,
        rpc_urls: ["https://rpc.example.com/net-secret"]
      }
    }
  ],
  ["relayer.created", "/api/v1/relayers", { body: evmRelayer }],
  [
    "relayer.updated",
    "/api/v1/relayers/relayer-1",
    { method: "PATCH", body: { name: "New", custom_rpc_urls: [{ url: "https://rpc.example.com/rpc-secret" }] } }
  ],
  [
    "notification.updated",
    "/api/v1/notifications/notification-1",
    { method: "PATCH", body: { signing_key: `${signingKey}-2` } }
  ],
  ["network.updated", "/api/v1/networks/evm:mine", { method: "PATCH", body: { symbol: "M" } }],
  ["key.created", "/api/v1/api-keys", { body: { name: "x", scopes: ["*"] } }],
  ["master_key.rotated", "/api/v1/master-key/rotate", { method: "POST" }],
  ["relayer.deleted", "/api/v1/relayers/relayer-1", { method: "DELETE" }],
  ["notification.deleted", "/api/v1/notifications/notification-1", { method: "DELETE" }],
  ["signer.deleted", "/api/v1/signers/signer-1", { method: "DELETE" }],
  ["network.deleted", "/api/v1/networks/evm:mine", { method: "DELETE" }]
]

/** Makes all `changes`, each with a request id of its own, and gives the texts of the responses. */
export const change = Effect.forEach(changes, ([action, path, options]) =>
  Effect.map(call(path, { ...options, headers: { "x-request-id": `for-${action}` } }), ({ status, text }) => {
    assert.include([200, 201], status, `${action} ${text}`)
    return text
  })
)
