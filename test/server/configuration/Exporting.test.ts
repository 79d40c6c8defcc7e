// Exports: a plan of what was exported changes nothing, and an apply of it gives the same export.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as ExactJson from "../../../src/domain/request/ExactJson.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { applied, call, createAll, document, key, planned, signingKey, textOf } from "./requests.ts"

const exported = Effect.fnUntraced(function* (name: string, all: boolean, key?: string) {
  const answer = yield* call(
    `/api/v1/configuration/${name}/document${all ? "?all=true" : ""}`,
    key === undefined ? {} : { key }
  )
  assert.strictEqual(answer.status, 200, answer.text)
  // With every digit, which `JSON.parse` would lose.
  const { data } = ExactJson.parse(answer.text) as { readonly data: unknown }
  return data as { readonly document: object; readonly remarks: Record<string, string> }
})

const changesOf = (given: object) =>
  Effect.map(planned(given), ({ steps }) =>
    steps.flatMap(({ changes, id }) => changes.map(({ path }) => `${id} ${path}`))
  )

/** Fields of every kind and network type, some of them unusual. */
const others: ReadonlyArray<readonly [path: string, body: object]> = [
  ["networks", { network_type: "evm", name: "child", from: "acme", tip_cap: 100000000000, tags: ["b", "a"] }],
  [
    "networks",
    {
      network_type: "stellar",
      name: "own.net",
      passphrase: "p",
      average_blocktime_ms: 5000,
      rpc_urls: [{ url: "https://s.example", weight: 0 }]
    }
  ],
  ["notifications", { id: "plain", url: "https://hooks.example.com:443/" }],
  ["signers", { id: "generated", type: "plain" }],
  [
    "relayers",
    {
      id: "sol",
      name: "S: {#",
      network_type: "solana",
      network: "devnet",
      paused: true,
      signer_id: "generated",
      policies: {
        fee_payment_strategy: "relayer",
        allowed_programs: ["TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"],
        max_allowed_fee_lamports: "18446744073709551615"
      }
    }
  ],
  [
    "relayers",
    {
      id: "xlm",
      name: "X",
      network_type: "stellar",
      network: "testnet",
      paused: false,
      signer_id: "generated",
      policies: { max_fee: 1000, slippage_percentage: 0.5, fee_payment_strategy: "relayer" },
      custom_rpc_urls: [
        { url: "https://rpc.example.com/secret-part" },
        { url: "https://rpc.example.com/secret-other", weight: 3 }
      ]
    }
  ],
  [
    "api-keys",
    {
      id: "limited",
      name: "L",
      scopes: ["transactions:*"],
      expires_at: "2100-01-01T00:00:00Z",
      transaction_limits: {
        max_value: "1000000000000000000000",
        solana: { max_value: "5", receivers: ["9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"] }
      }
    }
  ]
]

const createOthers = Effect.forEach(others, ([path, body]) =>
  Effect.map(call(`/api/v1/${path}`, { body }), (answer) => assert.strictEqual(answer.status, 201, answer.text))
)

layerEach(TestApi.layer())("exports", (it) => {
  it.effect("a plan of an export of everything has no changes, and an apply gives the same export", () =>
    Effect.gen(function* () {
      yield* createAll
      yield* createOthers
      yield* call("/api/v1/networks/evm:sepolia", { method: "PATCH", body: { tags: ["x"] } })
      yield* call("/api/v1/notifications/plain", { method: "PATCH", body: { paused: true } })
      const first = yield* exported("first", true)
      const text = textOf(first)
      for (const secret of [key, signingKey, "secret-path", "secret-part"]) assert.notInclude(text, secret)
      assert.deepStrictEqual(yield* changesOf(first.document), [])
      yield* applied(first.document)
      assert.deepStrictEqual((yield* applied(first.document)).changed, [])
      assert.strictEqual(textOf(yield* exported("first", true)), text)
      assert.strictEqual(textOf((yield* exported("first", false)).document), textOf(first.document))
      assert.match(first.remarks["relayers.treasury"] ?? "", /^address 0x[0-9a-f]{40}$/i)
    })
  )

  it.effect("an export has only what the configuration owns, and keeps every digit", () =>
    Effect.gen(function* () {
      const { treasury } = document.relayers
      const policies = { min_balance: "100000000000000001", gas_price_cap: "340282366920938463463374607431768211455" }
      yield* applied({ ...document, relayers: { treasury: { ...treasury, policies } }, api_keys: {} })
      yield* call("/api/v1/signers", { body: { id: "other", type: "plain" } })
      const answer = yield* call("/api/v1/configuration/payments/document")
      assert.include(answer.text, `"gas_price_cap":340282366920938463463374607431768211455`)
      assert.include(answer.text, `"min_balance":100000000000000001`)
      assert.notInclude(answer.text, `"other"`)
      assert.strictEqual((yield* call("/api/v1/configuration/unknown/document")).status, 404)
    })
  )

  it.effect("a key exports neither itself nor what it may not read", () =>
    Effect.gen(function* () {
      yield* createAll
      const create = Effect.fnUntraced(function* (id: string, scopes: ReadonlyArray<string>) {
        const { json } = yield* call("/api/v1/api-keys", { body: { id, name: id, scopes } })
        return (json.data as { key: string }).key
      })
      const reader = yield* create("reader", ["relayers:*", "signers:*", "notifications:*", "networks:*", "api-keys:*"])
      const { document: found } = yield* exported("first", true, reader)
      const keys = (found as { api_keys: object }).api_keys
      assert.deepStrictEqual(Object.keys(keys), ["dashboard"])
      const narrow = yield* create("narrow", ["relayers:read"])
      assert.strictEqual((yield* call("/api/v1/configuration/first/document?all=true", { key: narrow })).status, 403)
    })
  )

  it.effect("a key whose relayers were all deleted is not in the document", () =>
    Effect.gen(function* () {
      yield* createAll
      yield* call("/api/v1/relayers/treasury", { method: "DELETE" })
      const { document: found, remarks } = yield* exported("first", true)
      assert.notProperty(found, "api_keys")
      assert.include(remarks["api_keys.dashboard"] ?? "", "have been deleted")
      assert.deepStrictEqual(yield* changesOf(found), [])
    })
  )
})
