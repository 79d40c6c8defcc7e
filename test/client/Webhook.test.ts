// Receivers can verify webhooks. The signatures of these tests are published, or computed without the code of the service.
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, DateTime, Effect, Redacted, Schema } from "effect"
import { TestClock } from "effect/testing"
import { createHmac } from "node:crypto"
import { verifyWebhook } from "../../src/client/Webhook.ts"
import type { Options } from "../../src/client/Webhook.ts"
import { KnownEventType } from "../../src/domain/event/Event.ts"
import * as Bodies from "../../src/domain/notification/Webhook.ts"
import { Relayer } from "../../src/domain/relayer/Relayer.ts"
import { SolanaTransactionResponse } from "../../src/networks/solana/rules/SolanaExchanges.ts"
import { StellarTransactionResponse } from "../../src/networks/stellar/rules/StellarResponses.ts"
import { signatureHeaders } from "../../src/server/notifications/delivery/WebhookClient.ts"
import { evmRelayer } from "../../testkit/fixtures.ts"

const id = "0191e9a0-0000-4000-8000-000000000000"
const timestamp = 1_795_262_400
const secret = "0123456789abcdef0123456789abcdef"
const body = `{"id":"${id}","type":"later","event":"later","payload":{"amount":340282366920938463463374607431768211455},"timestamp":"2026-11-21T12:00:00.000Z"}`

const origin = { id, at: DateTime.makeUnsafe("2026-11-21T12:00:00Z") }

const relayer = Schema.decodeUnknownSync(Relayer)({
  ...evmRelayer,
  address: "0x0000000000000000000000000000000000000001",
  custom_rpc_urls: [],
  system_disabled: true,
  disabled_reason: { type: "BalanceCheckFailed", details: "no balance" }
})

/** As the ledger stores it. */
const transaction = JSON.stringify({
  id,
  relayer_id: evmRelayer.id,
  status: "mined",
  created_at: "2026-11-21T12:00:00.000Z",
  value: "0x1",
  from: "0x0000000000000000000000000000000000000001",
  is_canceled: false,
  fee_paid: "525000000000000"
})

const sign = (key: string | Uint8Array, text: string) => `v1,${createHmac("sha256", key).update(text).digest("base64")}`
const signature = sign(secret, `${id}.${timestamp}.${body}`)

const headers = {
  "webhook-id": id,
  "webhook-timestamp": String(timestamp),
  "webhook-signature": signature
}

const atThatTime = TestClock.setTime(timestamp * 1000)

const reason = (changes: Partial<Options>) =>
  Effect.match(verifyWebhook({ secret, headers, body, ...changes }), {
    onSuccess: () => "valid",
    onFailure: ({ reason }) => reason
  })

describe("verifyWebhook", () => {
  it.effect("returns a webhook of a later version with every digit", () =>
    Effect.gen(function* () {
      yield* atThatTime
      const webhook = yield* verifyWebhook({ secret, headers, body })
      assert.deepStrictEqual(webhook, {
        id,
        type: "unknown",
        sent_type: "later",
        event: "later",
        payload: { amount: 340282366920938463463374607431768211455n },
        timestamp: DateTime.makeUnsafe("2026-11-21T12:00:00Z")
      })
    })
  )

  it.effect("returns each webhook of this version with its type", () =>
    Effect.gen(function* () {
      yield* atThatTime
      const types = KnownEventType.literals.filter((type) => /^(relayer|transaction)\./.test(type))
      for (const type of types) {
        const body = type.startsWith("relayer.")
          ? Bodies.relayerBody({ ...origin, type, relayer })
          : Bodies.transactionBody({ ...origin, type, transaction })
        const signed = { ...headers, "webhook-signature": sign(secret, `${id}.${timestamp}.${body}`) }
        const webhook = yield* verifyWebhook({ secret, headers: signed, body })
        assert.strictEqual(webhook.type, type)
        if (webhook.type === "relayer.disabled") assert.strictEqual(webhook.payload.disable_reason, "no balance")
        if (webhook.type === "transaction.mined")
          assert.strictEqual(Reflect.get(webhook.payload, "fee_paid"), 525000000000000n)
      }
    })
  )

  const responses = { solana: SolanaTransactionResponse, stellar: StellarTransactionResponse }
  for (const [type, Shown] of Object.entries(responses)) {
    it.effect.prop(`returns a transaction of ${type} as responses show it`, [Arbitrary.schema(Shown)], ([shown]) =>
      Effect.gen(function* () {
        yield* atThatTime
        const stored = JSON.stringify(yield* Schema.encodeEffect(Shown)(shown))
        const body = Bodies.transactionBody({ ...origin, type: "transaction.mined", transaction: stored })
        const signed = { ...headers, "webhook-signature": sign(secret, `${id}.${timestamp}.${body}`) }
        const webhook = yield* verifyWebhook({ secret, headers: signed, body })
        if (webhook.type !== "transaction.mined") return assert.fail(webhook.type)
        assert.deepStrictEqual(webhook.payload, { payload_type: "transaction", ...shown })
      })
    )
  }

  it.effect("returns a transaction of a network type of a later version with the properties that all have", () =>
    Effect.gen(function* () {
      yield* atThatTime
      const later = JSON.stringify({
        ...JSON.parse(transaction),
        network_type: "later",
        sequence: "257698037760000001"
      })
      const body = Bodies.transactionBody({ ...origin, type: "transaction.mined", transaction: later })
      const signed = { ...headers, "webhook-signature": sign(secret, `${id}.${timestamp}.${body}`) }
      const webhook = yield* verifyWebhook({ secret, headers: signed, body })
      if (webhook.type !== "transaction.mined") return assert.fail(webhook.type)
      assert.strictEqual(webhook.payload.network_type, "later")
      assert.strictEqual(webhook.payload.status, "mined")
    })
  )

  it.effect("accepts headers and bodies in the forms that servers provide", () =>
    Effect.gen(function* () {
      yield* atThatTime
      const forms: ReadonlyArray<Partial<Options>> = [
        {},
        { headers: new Headers(headers) },
        { body: new TextEncoder().encode(body) },
        { body: Buffer.from(`--${body}`).subarray(2) },
        { secret: Redacted.make(secret) },
        { headers: { ...headers, "webhook-signature": `v1,${"A".repeat(43)}= ${signature} v1a,xyz` } }
      ]
      for (const form of forms) assert.strictEqual(yield* reason(form), "valid")
    })
  )

  it.effect("refuses a changed webhook, another key, and other forms of signatures", () =>
    Effect.gen(function* () {
      yield* atThatTime
      const forged: ReadonlyArray<Partial<Options>> = [
        { body: body.replace("later", "later!") },
        { body: `${body} ` },
        { secret: `${secret}0` },
        { secret: "whsec_" },
        { secret: "whsec_%%%" },
        { headers: { ...headers, "webhook-id": `${id}0` } },
        { headers: { ...headers, "webhook-timestamp": String(timestamp + 1) } },
        { headers: { ...headers, "webhook-signature": signature.replace("v1,", "v2,") } },
        { headers: { ...headers, "webhook-signature": signature.slice(3) } },
        { headers: { ...headers, "webhook-signature": "v1,%%%" } },
        { headers: { ...headers, "webhook-signature": "v1," } },
        { headers: { ...headers, "webhook-signature": sign(secret, body) } },
        { headers: { ...headers, "webhook-signature": signature.slice(0, -4) } }
      ]
      for (const form of forged) assert.strictEqual(yield* reason(form), "signature", JSON.stringify(form))
    })
  )

  it.effect("refuses missing and repeated headers", () =>
    Effect.gen(function* () {
      yield* atThatTime
      for (const name of Object.keys(headers)) {
        for (const value of [undefined, "", ["a", "b"]]) {
          assert.strictEqual(yield* reason({ headers: { ...headers, [name]: value } }), "headers")
        }
      }
    })
  )

  it.effect("refuses a timestamp that is too old or invalid", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime((timestamp + 300) * 1000)
      assert.strictEqual(yield* reason({}), "valid")
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* reason({}), "timestamp")
      assert.strictEqual(yield* reason({ toleranceSeconds: 301 }), "valid")
      for (const odd of ["soon", "-1", "1e9", "NaN", `${timestamp}.5`]) {
        assert.strictEqual(yield* reason({ headers: { ...headers, "webhook-timestamp": odd } }), "timestamp")
      }
    })
  )

  it.effect("refuses a signed body that is not a webhook", () =>
    Effect.gen(function* () {
      yield* atThatTime
      for (const body of ["", "null", "{", `{"id":1}`]) {
        const signed = { ...headers, "webhook-signature": sign(secret, `${id}.${timestamp}.${body}`) }
        assert.strictEqual(yield* reason({ headers: signed, body }), "body")
      }
    })
  )

  it.effect("accepts the signatures of the service, with text keys and with keys of Standard Webhooks", () =>
    Effect.gen(function* () {
      yield* atThatTime
      for (const key of [
        secret,
        `whsec_${Buffer.alloc(32, 9).toString("base64")}`,
        "schlüssel-0123456789-0123456789"
      ]) {
        const signed = signatureHeaders({ id, body, timestamp, keys: [Redacted.make(key)] })
        assert.strictEqual(yield* reason({ secret: key, headers: signed }), "valid")
        assert.strictEqual(signed["x-signature"], createHmac("sha256", key).update(body).digest("base64"))
      }
    })
  )
})

/** The example of standardwebhooks.com and of its libraries. */
describe("the example of Standard Webhooks", () => {
  const example = {
    id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
    timestamp: 1_614_265_330,
    body: `{"test": 2432232314}`,
    keys: [Redacted.make("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")]
  }

  it("has the published signature", () => {
    assert.strictEqual(
      signatureHeaders(example)["webhook-signature"],
      "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    )
  })

  it.effect("has a valid signature, but its body is not a webhook of this service", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(example.timestamp * 1000)
      const headers = {
        "webhook-id": example.id,
        "webhook-timestamp": String(example.timestamp),
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
      }
      const given = { secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", headers, body: example.body }
      assert.strictEqual(yield* reason(given), "body")
      assert.strictEqual(yield* reason({ ...given, body: `${example.body} ` }), "signature")
    })
  )
})
