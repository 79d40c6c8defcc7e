// Mistyped addresses in requests that store them: each is refused with its field, and changes nothing.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { layerEach } from "../../testkit/layerEach.ts"
import * as Prepared from "../../testkit/Prepared.ts"
import * as TestApi from "../../testkit/TestApi.ts"

const call = TestApi.callBelow("/api/v1/")

const right = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
const wrong = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD"
const checksum = "has a wrong checksum (EIP-55); check it, or write it in lower case"

const relayer = {
  id: "payouts",
  name: "Payouts",
  network: "sepolia",
  network_type: "evm",
  paused: true,
  signer_id: "signer-1"
}

const key = { name: "ci", scopes: ["transactions:*"] }

const counts = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`
    SELECT (SELECT count(*)::int FROM relayers) AS relayers, (SELECT count(*)::int FROM api_keys) AS keys,
      (SELECT count(*)::int FROM audit) AS audit`
)

const refused = Effect.fnUntraced(function* (path: string, method: string, body: object, error: string) {
  const before = yield* counts
  const { json, status } = yield* call(path, { method, body })
  assert.deepStrictEqual([status, json.error], [400, error])
  assert.deepStrictEqual(yield* counts, before)
})

layerEach(Prepared.layer(Prepared.references))("a mistyped address", (it) => {
  it.effect("in a policy is refused in a create and in a patch", () =>
    Effect.gen(function* () {
      const policies = { whitelist_receivers: [right, wrong], whitelist_selectors: [`${wrong}:0xa9059cbb`] }
      const error = `policies.whitelist_receivers.1: ${checksum}; policies.whitelist_selectors.0: ${checksum}`
      yield* refused("relayers", "POST", { ...relayer, policies }, error)
      const { status } = yield* call("relayers", { body: { ...relayer, policies: { whitelist_receivers: [right] } } })
      assert.strictEqual(status, 201)
      yield* refused("relayers/payouts", "PATCH", { policies }, error)
      const accepted = yield* call("relayers/payouts", {
        method: "PATCH",
        body: { policies: { whitelist_receivers: [wrong.toLowerCase()] } }
      })
      assert.strictEqual(accepted.status, 200)
    })
  )

  it.effect("that was stored before is shown, and hinders only changes of its list", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* call("relayers", { body: { ...relayer, policies: { whitelist_receivers: [right] } } })
      yield* sql`UPDATE relayers SET policies = replace(policies::text, ${right}, ${wrong})::json`
      const shown = yield* call("relayers/payouts")
      assert.include(shown.text, wrong)
      assert.strictEqual((yield* call("relayers/payouts", { method: "PATCH", body: { name: "Other" } })).status, 200)
      const same = { policies: { whitelist_receivers: [wrong] } }
      assert.strictEqual((yield* call("relayers/payouts", { method: "PATCH", body: same })).status, 200)
      const more = { policies: { whitelist_receivers: [wrong, right] } }
      yield* refused("relayers/payouts", "PATCH", more, `policies.whitelist_receivers.0: ${checksum}`)
    })
  )

  it.effect("in the limits of an API key is refused in a create and in a patch", () =>
    Effect.gen(function* () {
      const solana = { receivers: ["9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAW"] }
      const transaction_limits = { receivers: [wrong], solana }
      const error = [
        `transaction_limits.receivers.0: ${checksum}`,
        "transaction_limits.solana.receivers.0: is no address: it is not the base58 form of 32 bytes; check it"
      ].join("; ")
      yield* refused("api-keys", "POST", { ...key, transaction_limits }, error)
      const { json } = yield* call("api-keys", { body: key })
      const { id } = json.data as { readonly id: string }
      yield* refused(`api-keys/${id}`, "PATCH", { transaction_limits }, error)
    })
  )

  it.effect("in a network is refused", () =>
    refused(
      "networks/stellar:testnet",
      "PATCH",
      { fee_forwarder: "CADQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQP5KA" },
      "fee_forwarder: has a wrong checksum (StrKey); check it"
    )
  )
})
