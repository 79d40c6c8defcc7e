// Requests with invalid values: each gets 400, and `error` names the field without its value.
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { evmRelayer, notification, solanaRelayer, stellarRelayer } from "../../testkit/fixtures.ts"
import { layerEach } from "../../testkit/layerEach.ts"
import * as Prepared from "../../testkit/Prepared.ts"
import * as TestApi from "../../testkit/TestApi.ts"

const relayers = "/api/v1/relayers"
const notifications = "/api/v1/notifications"
const signers = "/api/v1/signers"

const without = <K extends string>(value: Record<string, unknown>, key: K) => {
  const { [key]: _, ...rest } = value
  return rest
}

const evmPolicy = (policies: Record<string, unknown>) => ({ ...evmRelayer, policies })
const solanaPolicy = (policies: Record<string, unknown>) => ({ ...solanaRelayer, policies })
const stellarPolicy = (policies: Record<string, unknown>) => ({
  ...stellarRelayer,
  policies: { ...stellarRelayer.policies, ...policies }
})
const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`

/** Path, body, and the start of `error`. */
// oxfmt-ignore
const cases: Record<string, readonly [path: string, body: unknown, error: string]> = {
  "an empty body": [relayers, "", "body: "],
  "half a body": [relayers, `{"name":`, "body: Expected valid JSON (it breaks at line 1, column 9)"],
  "a body that is not an object": [relayers, 5, "body: Expected an object whose network_type is evm, solana or stellar"],
  "a list": [relayers, [evmRelayer], "body: "],
  "NUL bytes between tokens": [relayers, `{"name":\u0000"a"}`, "body: Expected valid JSON"],
  "deep nesting": [relayers, nested(200_000), "body: Expected at most 256 levels of objects and lists"],
  "deep nesting with long numbers": [relayers, `{"a":${nested(100_000)},"b":12345678901234567890}`, "body: "],
  "an unknown network type": [relayers, { ...evmRelayer, network_type: "bitcoin" }, "network_type: Expected evm, solana or stellar"],
  "a missing name": [relayers, without(evmRelayer, "name"), "name: is required"],
  "a missing paused": [relayers, without(evmRelayer, "paused"), "paused: is required"],
  "an unknown key": [relayers, { ...evmRelayer, nam: "x" }, "nam: is not a known field"],
  "a key of Object.prototype": [relayers, JSON.stringify(evmRelayer).replace("{", `{"__proto__":1,`), "__proto__: is not a known field"],
  "an empty name": [relayers, { ...evmRelayer, name: "" }, "name: "],
  "a name of 5 kB": [relayers, { ...evmRelayer, name: "n".repeat(5000) }, "name: "],
  "a NUL in a name": [relayers, { ...evmRelayer, name: "a\u0000b" }, "name: "],
  "a lone surrogate in a name": [relayers, `${JSON.stringify(evmRelayer).replace("Payouts", "\\ud800")}`, "name: "],
  "a number as name": [relayers, { ...evmRelayer, name: 12 }, "name: Expected a text: 1 to 256 characters"],
  "a long number as name": [relayers, JSON.stringify(evmRelayer).replace(`"Payouts"`, "12345678901234567890"), "name: Expected a text: 1 to 256 characters"],
  "a string as paused": [relayers, { ...evmRelayer, paused: "true" }, "paused: Expected true or false"],
  "an id with a space": [relayers, { ...evmRelayer, id: "a b" }, "id: Expected 1 to 36 letters"],
  "an id of 37 characters": [relayers, { ...evmRelayer, id: "i".repeat(37) }, "id: Expected 1 to 36 letters"],
  "an RPC URL of another scheme": [relayers, { ...evmRelayer, custom_rpc_urls: [{ url: "ftp://a" }] }, "custom_rpc_urls.0.url: Expected an http or https URL"],
  "a bare RPC URL": [relayers, { ...evmRelayer, custom_rpc_urls: ["https://a"] }, "custom_rpc_urls.0: "],
  "an RPC URL that is too long": [relayers, { ...evmRelayer, custom_rpc_urls: [{ url: `https://a/${"x".repeat(2048)}` }] }, "custom_rpc_urls.0.url: "],
  "a weight over 100": [relayers, { ...evmRelayer, custom_rpc_urls: [{ url: "https://a", weight: 101 }] }, "custom_rpc_urls.0.weight: Expected an integer from 0 to 100"],
  "a fraction as weight": [relayers, { ...evmRelayer, custom_rpc_urls: [{ url: "https://a", weight: 1.5 }] }, "custom_rpc_urls.0.weight: "],
  "a private RPC URL of another scheme": [relayers, { ...evmRelayer, custom_private_rpc_urls: [{ url: "ftp://a" }] }, "custom_private_rpc_urls.0.url: Expected an http or https URL"],
  "a private RPC URL that publishes": [relayers, { ...evmRelayer, custom_private_rpc_urls: [{ url: "https://a.example.com/?mempoolRPC=x" }] }, "custom_private_rpc_urls.0.url: has mempoolRPC, with which the endpoint publishes transactions"],
  "a private RPC URL of a relayer of solana": [relayers, { ...solanaRelayer, custom_private_rpc_urls: [{ url: "https://a" }] }, "custom_private_rpc_urls: is not a known field"],
  "a fallback after less than 30 seconds": [relayers, evmPolicy({ private_fallback_after_seconds: 29 }), "policies.private_fallback_after_seconds: Expected an integer from 30 to"],
  "a fallback after more than a week": [relayers, evmPolicy({ private_fallback_after_seconds: 604_801 }), "policies.private_fallback_after_seconds: Expected an integer from 30 to"],
  "a fraction as fallback": [relayers, evmPolicy({ private_fallback_after_seconds: 30.5 }), "policies.private_fallback_after_seconds: "],
  "a string as private_transactions": [relayers, evmPolicy({ private_transactions: "true" }), "policies.private_transactions: Expected true or false"],
  "private transactions of a relayer of solana": [relayers, solanaPolicy({ private_transactions: true }), "policies.private_transactions: is not a known field"],
  "other private estimates": [relayers, evmPolicy({ private_estimates: "both" }), "policies.private_estimates: "],
  "1001 RPC URLs": [relayers, { ...evmRelayer, custom_rpc_urls: Array.from({ length: 1001 }, () => ({ url: "https://a" })) }, "custom_rpc_urls: "],
  "an amount below zero": [relayers, evmPolicy({ min_balance: -1 }), "policies.min_balance: Expected an integer from 0 to"],
  "an amount of 2^128": [relayers, evmPolicy({ gas_price_cap: String(2n ** 128n) }), "policies.gas_price_cap: Expected an integer from 0 to"],
  "a fraction as amount": [relayers, evmPolicy({ min_balance: 1.5 }), "policies.min_balance: Expected an integer"],
  "a receiver that is not an address": [relayers, evmPolicy({ whitelist_receivers: ["0x12"] }), "policies.whitelist_receivers.0: Expected an address"],
  "a selector without its contract": [relayers, evmPolicy({ whitelist_selectors: ["0xa9059cbb"] }), "policies.whitelist_selectors.0: Expected an address, a colon, and 0x"],
  "a delegate that is not an address": [relayers, evmPolicy({ allowed_delegates: ["0x12"] }), "policies.allowed_delegates.0: Expected an address"],
  "the word for authorities as a delegate": [relayers, evmPolicy({ allowed_delegates: ["authority"] }), "policies.allowed_delegates.0: Expected an address"],
  "delegates of a relayer of solana": [relayers, solanaPolicy({ allowed_delegates: [] }), "policies.allowed_delegates: is not a known field: only evm has it"],
  "a policy field of another network type": [relayers, evmPolicy({ fee_payment_strategy: "user" }), "policies.fee_payment_strategy: is not a known field: only solana, stellar have it"],
  "lamports of 2^64": [relayers, solanaPolicy({ min_balance: String(2n ** 64n) }), "policies.min_balance: "],
  "both account lists": [relayers, solanaPolicy({ allowed_accounts: [], disallowed_accounts: [] }), "policies.disallowed_accounts: cannot be given together with allowed_accounts"],
  "a cap of zero lamports": [relayers, solanaPolicy({ max_allowed_fee_lamports: 0 }), "policies.max_allowed_fee_lamports: Expected an integer from 1"],
  "a margin below zero": [relayers, solanaPolicy({ fee_margin_percentage: -1 }), "policies.fee_margin_percentage: "],
  "a swap although the relayer pays": [relayers, solanaPolicy({ fee_payment_strategy: "relayer", swap_config: {} }), "policies.swap_config: is only supported if"],
  "Jupiter on devnet": [relayers, { ...solanaRelayer, network: "devnet" }, "policies.swap_config.strategy: jupiter-swap is only supported on mainnet-beta"],
  "a cron of five fields": [relayers, solanaPolicy({ swap_config: { cron_schedule: "* * * * *" } }), "policies.swap_config.cron_schedule: Expected a cron schedule"],
  "options of another strategy": [relayers, solanaPolicy({ swap_config: { strategy: "noop", jupiter_swap_options: {} } }), "policies.swap_config.jupiter_swap_options: is only valid"],
  "a priority without its fee": [relayers, solanaPolicy({ swap_config: { strategy: "jupiter-swap", jupiter_swap_options: { priority_level: "high" } } }), "policies.swap_config.jupiter_swap_options.priority_level: must be given together"],
  "a stellar swap without a strategy of payment": [relayers, { ...stellarRelayer, policies: { swap_config: { strategies: ["soroswap"] } } }, "policies.swap_config: is only supported if"],
  "a slippage over 100": [relayers, stellarPolicy({ slippage_percentage: 101 }), "policies.slippage_percentage: "],
  "an asset that is not one": [relayers, stellarPolicy({ allowed_tokens: [{ asset: "USDC:X" }] }), "policies.allowed_tokens.0.asset: Expected native, XLM"],
  "a swap without strategies": [relayers, stellarPolicy({ fee_payment_strategy: "user", swap_config: { strategies: [] } }), "policies.swap_config.strategies: "],
  "a signer of an unknown type": [
    signers,
    { type: "paper" },
    "type: Expected plain, local, vault, vault_transit, pkcs11, aws_kms, google_cloud_kms, azure_key_vault or turnkey"
  ],
  "a key that is too short": [signers, { type: "plain", config: { key: "ab" } }, "config.key: Expected 32 bytes as 64 hex digits"],
  "a key of zeros": [signers, { type: "plain", config: { key: "0".repeat(64) } }, "config.key: Expected a key above zero"],
  "a key beyond the curve": [signers, { type: "plain", config: { key: "f".repeat(64) } }, "config.key: Expected a key above zero"],
  "a webhook over http": [notifications, { ...notification, url: "http://example.com" }, "url: the URL has http instead of https"],
  "a webhook with credentials": [notifications, { ...notification, url: "https://u:p@example.com" }, "url: Expected a URL without credentials"],
  "a webhook that is not a URL": [notifications, { ...notification, url: "hooks" }, "url: Expected an http or https URL"],
  "a webhook with a leading blank": [notifications, { ...notification, url: " https://example.com" }, "url: Expected an http or https URL"],
  "a webhook with a leading tab": [notifications, { ...notification, url: "\thttps://example.com" }, "url: Expected an http or https URL"],
  "a webhook with a line break": [notifications, { ...notification, url: "https://exam\nple.com" }, "url: Expected an http or https URL"],
  "an RPC URL with a leading blank": [relayers, { ...evmRelayer, custom_rpc_urls: [{ url: " https://a" }] }, "custom_rpc_urls.0.url: Expected an http or https URL"],
  "a short signing key": [notifications, { ...notification, signing_key: "short" }, "signing_key: "],
  "another notification type": [notifications, { ...notification, type: "email" }, "type: "]
}

/** Fields for which no value of `Garbage` is valid. */
const BrokenField = Schema.Literals([
  "id",
  "name",
  "network",
  "network_type",
  "paused",
  "signer_id",
  "custom_rpc_urls",
  "policies"
])
const Garbage = Schema.Union([Schema.Finite, Schema.Struct({ a: Schema.String }), Schema.NonEmptyArray(Schema.Finite)])

const stored = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ count: bigint }>`
    SELECT (SELECT count(*) FROM relayers) + (SELECT count(*) FROM notifications) + (SELECT count(*) FROM signers) AS count`
  return row?.count
})

layerEach(TestApi.layer())("valid input", (it) => {
  it.effect("the requests from which the invalid ones are derived are valid", () =>
    Effect.gen(function* () {
      yield* Prepared.references
      for (const relayer of [evmRelayer, solanaRelayer, stellarRelayer]) yield* Prepared.create("relayers", relayer)
    })
  )
})

layer(TestApi.layer())("invalid input", (it) => {
  for (const [name, [path, body, error]] of Object.entries(cases)) {
    it.effect(`${name} is refused with "${error}"`, () =>
      Effect.gen(function* () {
        const api = yield* TestApi.TestApi
        const answer = yield* api.call(path, { method: "POST", body })
        assert.strictEqual(answer.status, 400, answer.text)
        assert.deepStrictEqual(Object.keys(answer.json).sort(), ["data", "error", "message", "success"])
        assert.strictEqual(answer.json.message, "Bad Request")
        assert.isTrue(answer.json.error?.startsWith(error), answer.json.error)
        assert.isAtMost(answer.json.error?.length ?? 0, 1024)
        assert.strictEqual(yield* stored, 0n)
      })
    )
  }

  for (const query of [
    "audit?key_id=%00",
    "audit?resource_id=a%00b",
    "audit?request_id=%00",
    "audit?since=-271821-04-20T00:00:00Z",
    "audit?until=%2B275760-09-13T00:00:00.000Z",
    "events?resource_id=%00",
    "relayers?q=%00",
    "relayers?network=%00"
  ]) {
    it.effect(`${query} is refused, because PostgreSQL cannot represent the value`, () =>
      Effect.gen(function* () {
        const api = yield* TestApi.TestApi
        const { status, json } = yield* api.call(`/api/v1/${query}`)
        assert.strictEqual(status, 400)
        assert.match(json.error ?? "", new RegExp(`^${/\?(\w+)=/.exec(query)?.[1]}: `))
      })
    )
  }

  it.effect("the latest time that is valid comes back as it was sent", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const body = { name: "x", scopes: ["relayers:read"], expires_at: "9999-12-31T23:59:59.999Z" }
      const { status, text } = yield* api.call("/api/v1/api-keys", { body })
      assert.strictEqual(status, 201, text)
      assert.include((yield* api.call("/api/v1/api-keys")).text, body.expires_at)
    })
  )

  it.effect("one error names all invalid fields", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const body = { ...evmPolicy({ min_balance: -1, x: 1 }), id: "a b", name: "", paused: 1, y: 2 }
      const { json } = yield* api.call(relayers, { body })
      for (const field of ["policies.min_balance", "policies.x", "id", "name", "paused", "y"]) {
        assert.include(json.error, `${field}: `)
      }
    })
  )

  it.effect("an error repeats no value of the request", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const secret = "s3cr3t-value"
      const bodies = [
        [signers, { type: "plain", config: { key: secret } }],
        [signers, { type: secret, config: { key: secret } }],
        [notifications, { ...notification, url: secret, signing_key: secret }],
        [relayers, { ...evmRelayer, custom_rpc_urls: [{ url: secret, weight: secret }], paused: secret }]
      ] as const
      for (const [path, body] of bodies) assert.notInclude((yield* api.call(path, { body })).text, secret)
    })
  )

  it.effect("an error text has at most 1 kB and says how many more fields are invalid", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const unknown = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`unknown-${n}`, n]))
      const { json } = yield* api.call(relayers, { body: { ...evmRelayer, ...unknown } })
      assert.isAtMost(json.error?.length ?? 0, 1024)
      assert.match(json.error ?? "", /; and 49\d\d more$/)
    })
  )

  it.effect("a body with more than 10,000 members and elements is refused before it is decoded", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const unknown = Object.fromEntries(Array.from({ length: 80_000 }, (_, n) => [n, 1]))
      const { status, json } = yield* api.call(relayers, { body: unknown })
      assert.deepStrictEqual([status, json.error], [400, "body: Expected at most 10000 members and elements"])
      const commas = yield* api.call(relayers, { body: { ...evmRelayer, name: `"\\"${",".repeat(20_000)}` } })
      assert.match(commas.json.error ?? "", /^name: Expected 1 to 256 characters/)
    })
  )

  it.effect.prop(
    "a valid request with one invalid field is refused, and the error names that field",
    [BrokenField, Garbage],
    ([field, garbage]) =>
      Effect.gen(function* () {
        const api = yield* TestApi.TestApi
        const { status, json } = yield* api.call(relayers, { body: { ...evmRelayer, [field]: garbage } })
        assert.strictEqual(status, 400)
        assert.include(json.error, field)
      }),
    { arbitrary: { runs: 60 } }
  )
})
