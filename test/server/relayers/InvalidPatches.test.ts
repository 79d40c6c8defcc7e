// Patches that are refused and change nothing.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { solanaRelayer, stellarRelayer } from "../../../testkit/fixtures.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { get, patch, setUp } from "./Patched.ts"

layerEach(Prepared.layer(setUp))("a relayer", (it) => {
  it.effect("an invalid patch is refused with the names of the wrong fields, and changes nothing", () =>
    Effect.gen(function* () {
      const before = yield* get()
      const deep = (depth: number) => `{"policies":${'{"a":'.repeat(depth)}1${"}".repeat(depth + 1)}`
      const cases: ReadonlyArray<readonly [unknown, string]> = [
        [
          { id: "other", network: "base", network_type: "solana", signer_id: "x", address: "0x" },
          "id: cannot be changed; network: cannot be changed; network_type: cannot be changed; signer_id: cannot be changed; address: cannot be changed"
        ],
        [
          { system_disabled: false, disabled_reason: null },
          "system_disabled: cannot be changed; disabled_reason: cannot be changed"
        ],
        [
          { colour: "red" },
          "colour: is not a known field (known: name, paused, notification_id, custom_rpc_urls, custom_private_rpc_urls, policies)"
        ],
        [{ name: null }, "name: Expected a text: 1 to 256 characters"],
        [{ paused: null }, "paused: Expected true or false"],
        [{ name: "" }, "name: Expected 1 to 256 characters"],
        [
          { policies: { fee_payment_strategy: "user" } },
          "policies.fee_payment_strategy: is not a known field: only solana, stellar have it"
        ],
        [
          { policies: { min_balance: -1 } },
          "policies.min_balance: Expected an integer from 0 to 340282366920938463463374607431768211455, as a number or a decimal string"
        ],
        [deep(100), "policies.a: nests deeper than 32"],
        [deep(100_000), "body: Expected at most 256 levels of objects and lists"],
        [{ notification_id: "nobody" }, "notification_id: no notification with this id"],
        [
          { custom_rpc_urls: [{ url: "https://a.example" }, { url: "http://169.254.169.254/latest" }] },
          "custom_rpc_urls.1.url: points to a cloud metadata address, which is not allowed"
        ],
        [
          { custom_private_rpc_urls: [{ url: "http://169.254.169.254/latest" }] },
          "custom_private_rpc_urls.0.url: points to a cloud metadata address, which is not allowed"
        ],
        [
          { custom_rpc_urls: [{ url: "https://nowhere.example/***", weight: 7 }] },
          "custom_rpc_urls.0.url: is masked, and no stored URL has this mask: send the URL itself"
        ],
        [[], "body: Expected an object"],
        ["null", "body: Expected an object"],
        ['{"name":', "body: Expected valid JSON (it breaks at line 1, column 9)"]
      ]
      for (const [body, error] of cases) {
        const answer = yield* patch(body)
        assert.strictEqual(answer.status, 400, JSON.stringify(body)?.slice(0, 100))
        assert.strictEqual(answer.json.error, error)
      }
      assert.strictEqual((yield* get()).text, before.text)
      const missing = yield* patch({ name: "x" }, {}, "/api/v1/relayers/nobody")
      assert.deepStrictEqual([missing.status, missing.json.message], [404, "Relayer not found"])
    })
  )

  it.effect("a patch is refused if the result breaks a rule of the network type", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      for (const body of [solanaRelayer, stellarRelayer]) {
        assert.strictEqual((yield* api.call("/api/v1/relayers", { body })).status, 201)
      }
      const both = yield* patch({ policies: { allowed_accounts: [] } }, {}, "/api/v1/relayers/relayer-2")
      assert.strictEqual(
        both.json.error,
        "policies.disallowed_accounts: cannot be given together with allowed_accounts"
      )
      const unset = yield* patch({ policies: { fee_payment_strategy: null } }, {}, "/api/v1/relayers/relayer-3")
      assert.strictEqual(unset.status, 200, unset.text)
      assert.notInclude(unset.text, "fee_payment_strategy")
      const swap = yield* patch(
        { policies: { swap_config: { strategies: ["soroswap"] } } },
        {},
        "/api/v1/relayers/relayer-3"
      )
      assert.strictEqual(swap.json.error, "policies.swap_config: is only supported if the fee payment strategy is user")
      const none = yield* patch({ policies: null }, {}, "/api/v1/relayers/relayer-3")
      assert.strictEqual(none.status, 200, none.text)
    })
  )
})
