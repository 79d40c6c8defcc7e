// Signatures of messages by a signer that another server has: what callers get if that server is away or takes no more requests.
import { assert } from "@effect/vitest"
import { Effect, Layer, Metric } from "effect"
import { signerMetrics } from "../../../src/server/signers/SignerKeys.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as AwsKms from "../../../testkit/signers/AwsKms.ts"
import { StandIn } from "../../../testkit/signers/StandIn.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { Vault } from "../../../testkit/Vault.ts"
import type { Fault } from "../../../testkit/Vault.ts"
import { config, prepared, signers } from "../signers/fixtures.ts"
import { prepare } from "./Fixtures.ts"

const relayer = { id: "remote", name: "remote", network_type: "evm", network: "nowhere", paused: false }

/** A relayer whose key is in a Vault that fails. */
const failing = Effect.fnUntraced(function* (fault: Fault) {
  const { call } = yield* TestApi.TestApi
  yield* prepare()
  const vault = yield* prepared
  yield* call(signers, { body: { id: "vault", type: "vault", config: config(vault) } })
  const { status, text } = yield* call("/api/v1/relayers", { body: { ...relayer, signer_id: "vault" } })
  assert.strictEqual(status, 201, text)
  vault.faults.set("kv", fault)
})

const sign = Effect.flatMap(TestApi.TestApi, ({ call }) =>
  call("/api/v1/relayers/remote/sign", { body: { message: "hello" } })
)

const rpc = Effect.flatMap(TestApi.TestApi, ({ call }) =>
  Effect.gen(function* () {
    const { json } = yield* call("/api/v1/relayers/remote")
    const { address } = json.data as { readonly address: string }
    const body = { jsonrpc: "2.0", id: 1, method: "personal_sign", params: ["0x00", address] }
    return (yield* call("/api/v1/relayers/remote/rpc", { body })).json.error
  })
)

/** A counter's value, or how many values a histogram has. */
const amountOf = (name: string, attributes: Record<string, string>) =>
  Effect.gen(function* () {
    const metric = signerMetrics.find(({ id }) => id === name) ?? assert.fail(name)
    const state: object = yield* Metric.value(Metric.withAttributes(metric as Metric.Metric<never, object>, attributes))
    return "count" in state ? Number(state.count) : 0
  })

const amounts = Effect.all({
  unreachable: amountOf("signer_failures_total", { type: "vault", reason: "unreachable" }),
  failed: amountOf("signer_sign_seconds", { type: "vault", outcome: "failed" }),
  signed: amountOf("signer_sign_seconds", { type: "plain", outcome: "signed" })
})

layerEach(Layer.provideMerge(TestApi.layer(), Vault.layer))("a signature of a message", (it) => {
  it.effect("is a 502 with the reason if the signer does not answer", () =>
    Effect.gen(function* () {
      yield* failing(503)
      const { status, json } = yield* sign
      assert.strictEqual(status, 502)
      assert.strictEqual(json.error, "the signer of the relayer: Vault does not answer (unreachable)")
      assert.match(JSON.stringify(yield* rpc), /Vault does not answer \(unreachable\)/)
    })
  )

  it.effect("is a 429 with Retry-After if the signer takes no more requests", () =>
    Effect.gen(function* () {
      yield* failing(429)
      const { status, headers } = yield* sign
      assert.deepStrictEqual([status, headers.get("retry-after")], [429, "1"])
      assert.match(JSON.stringify(yield* rpc), /try again in 1 s/)
    })
  )

  it.effect("is measured, by the type of the signer and its outcome", () =>
    Effect.gen(function* () {
      yield* failing(503)
      const before = yield* amounts
      yield* sign
      const { call } = yield* TestApi.TestApi
      assert.strictEqual((yield* call("/api/v1/relayers/sender/sign", { body: { message: "hello" } })).status, 200)
      const after = yield* amounts
      const differences = [
        after.unreachable - before.unreachable,
        after.failed - before.failed,
        after.signed - before.signed
      ]
      assert.deepStrictEqual(differences, [1, 1, 1])
    })
  )
})

layerEach(Layer.provideMerge(TestApi.layer(), AwsKms.layer))("a signature by a key service", (it) => {
  it.effect("leaves the id of the call in the audit log", () =>
    Effect.gen(function* () {
      yield* prepare()
      const standIn = yield* StandIn
      const { call } = yield* TestApi.TestApi
      const created = yield* call(signers, { body: { id: "kms", ...standIn.request("secp256k1") } })
      assert.strictEqual(created.status, 201, created.text)
      yield* call("/api/v1/relayers", { body: { ...relayer, signer_id: "kms" } })
      assert.strictEqual((yield* sign).status, 200)
      const { text } = yield* call("/api/v1/audit?limit=1000")
      assert.include(text, `"key_service_request_id":"${AwsKms.requestId}"`)
    })
  )
})
