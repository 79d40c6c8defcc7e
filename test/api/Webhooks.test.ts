// The bodies of webhooks are what openapi.json documents.
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Schema } from "effect"
import * as Webhook from "../../src/domain/notification/Webhook.ts"
import { Relayer } from "../../src/domain/relayer/Relayer.ts"
import { resources } from "../../src/domain/access/Resources.ts"
import { EvmTransaction } from "../../src/networks/evm/rules/EvmSchemas.ts"
import { property } from "../../testkit/Depth.ts"
import * as Documented from "../../testkit/Documented.ts"

const origin = { id: "0191e9a0-7b1c-7000-8000-5e0c3f9b2d11", at: DateTime.makeUnsafe("2026-01-02T03:04:05.678Z") }

const headers = {
  "webhook-id": origin.id,
  "webhook-timestamp": "1767323045",
  "webhook-event-type": "test"
}

const encode = Schema.encodeSync(EvmTransaction)

describe("webhooks of openapi.json", () => {
  for (const type of resources.relayer.eventTypes) {
    it.prop(
      `the body of ${type} is as documented`,
      [Relayer],
      ([relayer]) => {
        const body = Webhook.relayerBody({ ...origin, type, relayer })
        assert.deepStrictEqual(Documented.webhookFaultsOf("relayer", { headers, body }), [])
      },
      property()
    )
  }

  const Type = Schema.Literals(resources.transaction.eventTypes)

  it.prop(
    "the body about a transaction is as documented",
    [Type, EvmTransaction],
    ([type, transaction]) => {
      const body = Webhook.transactionBody({ ...origin, type, transaction: JSON.stringify(encode(transaction)) })
      assert.deepStrictEqual(Documented.webhookFaultsOf("transaction", { headers, body }), [])
    },
    property()
  )

  it("the body of a test is as documented", () => {
    const body = Webhook.testBody({ ...origin, notificationId: "ops" })
    assert.deepStrictEqual(Documented.webhookFaultsOf("test", { headers, body }), [])
  })

  it("a missing header and a missing or different property are faults", () => {
    const faults = Documented.webhookFaultsOf("test", { headers: {}, body: '{"id":1,"event":"test","payload":{}}' })
    const text = faults.join("\n")
    for (const expected of ["header webhook-id is missing", "'timestamp'", "/id must be string", "'notification_id'"]) {
      assert.include(text, expected)
    }
  })
})
