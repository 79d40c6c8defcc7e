// The body of a webhook in the format of the specification.
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Schema } from "effect"
import { KnownEventType } from "../../../src/domain/event/Event.ts"
import { Relayer } from "../../../src/domain/relayer/Relayer.ts"
import * as Webhook from "../../../src/domain/notification/Webhook.ts"
import { evmRelayer } from "../../../testkit/fixtures.ts"

const shown = {
  ...evmRelayer,
  address: "0x0000000000000000000000000000000000000001",
  system_disabled: true,
  disabled_reason: { type: "Multiple", details: "no nonce, no balance" },
  custom_rpc_urls: [{ url: "https://rpc.example.com/***", weight: 50 }]
}
const relayer = Schema.decodeUnknownSync(Relayer)(shown)
const at = DateTime.makeUnsafe("2026-11-21T12:00:00Z")
const bodyOf = (type: KnownEventType) => Webhook.relayerBody({ id: "id-1", type, relayer, at })

describe("the body of a webhook", () => {
  it("has the type, the event, the payload's type and the relayer as the API shows it, with every digit", () => {
    const expected = JSON.stringify({
      id: "id-1",
      type: "relayer.disabled",
      event: "relayer_state_update",
      payload: {
        payload_type: "relayer_disabled",
        relayer: Schema.encodeSync(Relayer)(relayer),
        disable_reason: "no nonce, no balance"
      },
      timestamp: "2026-11-21T12:00:00.000Z"
    })
    assert.strictEqual(bodyOf("relayer.disabled"), expected)
    assert.include(expected, `"min_balance":340282366920938463463374607431768211455`)
  })

  const events: ReadonlyArray<readonly [KnownEventType, string, string]> = [
    ["relayer.created", "relayer_update", "relayer_created"],
    ["relayer.updated", "relayer_update", "relayer_updated"],
    ["relayer.deleted", "relayer_update", "relayer_deleted"],
    ["relayer.paused", "relayer_state_update", "relayer_paused"],
    ["relayer.resumed", "relayer_state_update", "relayer_resumed"],
    ["relayer.disabled", "relayer_state_update", "relayer_disabled"],
    ["relayer.enabled", "relayer_state_update", "relayer_enabled"],
    ["relayer.degraded", "relayer_state_update", "relayer_degraded"],
    ["relayer.recovered", "relayer_state_update", "relayer_recovered"],
    ["relayer.low_balance", "relayer_state_update", "relayer_low_balance"],
    ["relayer.top_up_sent", "relayer_state_update", "relayer_top_up_sent"],
    ["relayer.top_up_held", "relayer_state_update", "relayer_top_up_held"],
    ["relayer.delegate_changed", "relayer_state_update", "relayer_delegate_changed"]
  ]

  it("exists for every event type of a relayer", () => {
    assert.sameMembers(
      events.map(([type]) => type),
      KnownEventType.literals.filter((type) => type.startsWith("relayer."))
    )
  })

  for (const [type, event, payload_type] of events) {
    it(`${type} is ${event}, ${payload_type}`, () => {
      const { payload, ...body } = JSON.parse(bodyOf(type))
      assert.deepInclude(body, { id: "id-1", type, event })
      assert.strictEqual(payload.payload_type, payload_type)
      assert.strictEqual("disable_reason" in payload, type === "relayer.disabled")
      assert.strictEqual(payload.retry_count, type === "relayer.enabled" ? 0 : undefined)
    })
  }

  it("of a test names the notification", () => {
    assert.deepInclude(JSON.parse(Webhook.testBody({ id: "id-1", notificationId: "ops", at })), {
      type: "test",
      event: "test",
      payload: { payload_type: "test", notification_id: "ops" }
    })
  })
})
