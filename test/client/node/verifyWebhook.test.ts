// Programs without Effect can verify webhooks. The plain types are those of the schema.
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { DateTime, Schema } from "effect"
import { createHmac } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { verifyWebhook, WebhookInvalid } from "../../../src/client/node/verifyWebhook.ts"
import type { Options, WebhookBody } from "../../../src/client/node/verifyWebhook.ts"
import * as Bodies from "../../../src/domain/notification/Webhook.ts"
import { WebhookPayload } from "../../../src/api/WebhooksApi.ts"
import { Relayer } from "../../../src/domain/relayer/Relayer.ts"
import { resources } from "../../../src/domain/access/Resources.ts"

const id = "0191e9a0-0000-4000-8000-000000000000"
const timestamp = 1_795_262_400
const secret = "0123456789abcdef0123456789abcdef"
const now = timestamp * 1000

const at = (milliseconds: number) => () => milliseconds

const signed = (body: string, key: string | Uint8Array = secret): Options => ({
  secret,
  body,
  clock: at(now),
  headers: {
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`
  }
})

const test = Bodies.testBody({ id, at: DateTime.makeUnsafe(now), notificationId: "ops" })

const reasonOf = (options: Options) => {
  try {
    verifyWebhook(options)
    return "valid"
  } catch (error) {
    if (!(error instanceof WebhookInvalid)) throw error
    assert.isAbove(error.message.length, 20)
    return error.reason
  }
}

describe("verifyWebhook for plain Node", () => {
  it("returns the webhook with its type", () => {
    const webhook = verifyWebhook(signed(test))
    assert.isTrue(webhook.type === "test" && webhook.payload.notification_id === "ops")
  })

  it.prop(
    "returns each webhook about a relayer as it was sent",
    [Schema.Literals(resources.relayer.eventTypes), Relayer],
    ([type, relayer]) => {
      const body = Bodies.relayerBody({ id, at: DateTime.makeUnsafe(now), type, relayer })
      const webhook = verifyWebhook(signed(body))
      assert.strictEqual(webhook.type, type)
      assert.isTrue(Schema.is(Schema.toType(WebhookPayload))(Schema.decodeUnknownSync(WebhookPayload)(webhook)))
    }
  )

  it("returns a webhook of a later version with every digit", () => {
    const body = `{"id":"1","type":"later","event":"new","payload":{"amount":340282366920938463463374607431768211455},"timestamp":""}`
    const payload = { amount: 340282366920938463463374607431768211455n }
    const expected = { id: "1", type: "unknown", sent_type: "later", event: "new", payload, timestamp: "" }
    assert.deepStrictEqual<unknown>(verifyWebhook(signed(body)), expected)
  })

  it("refuses with the reason", () => {
    const valid = signed(test)
    assert.strictEqual(reasonOf(valid), "valid")
    assert.strictEqual(reasonOf({ ...valid, headers: {} }), "headers")
    assert.strictEqual(reasonOf({ ...valid, clock: at(now + 300_000) }), "valid")
    assert.strictEqual(reasonOf({ ...valid, clock: at(now + 301_000) }), "timestamp")
    assert.strictEqual(reasonOf({ ...valid, clock: at(now - 301_000) }), "timestamp")
    assert.strictEqual(reasonOf({ ...valid, clock: at(now + 301_000), toleranceSeconds: 301 }), "valid")
    assert.strictEqual(reasonOf({ ...valid, body: `${test} ` }), "signature")
    assert.strictEqual(reasonOf({ ...valid, secret: "another-0123456789-0123456789-0123" }), "signature")
    assert.strictEqual(reasonOf({ ...valid, secret: "whsec_" }), "signature")
    for (const body of ["", "null", "{", "[]", `{"id":1}`]) assert.strictEqual(reasonOf(signed(body)), "body")
  })

  it("takes keys of Standard Webhooks, other signatures beside its own, and bodies as bytes", () => {
    const key = Buffer.alloc(32, 9)
    const standard = { ...signed(test, key), secret: `whsec_${key.toString("base64")}` }
    assert.strictEqual(reasonOf(standard), "valid")
    const { headers } = signed(test)
    const signature = `v1,AAAA v1a,xyz ${String(Reflect.get(headers, "webhook-signature"))}`
    assert.strictEqual(reasonOf({ ...signed(test), headers: { ...headers, "webhook-signature": signature } }), "valid")
    assert.strictEqual(reasonOf({ ...signed(test), body: Buffer.from(test) }), "valid")
  })

  it("loads no package", () => {
    const seen = new Set<string>()
    const visit = (file: string) => {
      if (seen.has(file)) return
      seen.add(file)
      for (const [, name = ""] of fs.readFileSync(file, "utf8").matchAll(/^(?:import|export|\}).* from "([^"]+)"/gm)) {
        if (!name.startsWith(".")) assert.strictEqual(name, "node:crypto", file)
        else visit(path.resolve(path.dirname(file), name))
      }
    }
    visit(path.resolve(import.meta.dirname, "../../../src/client/node/verifyWebhook.ts"))
    assert.isAtLeast(seen.size, 4)
  })

  it("has the types of the schema", () => {
    expectTypeOf<WebhookBody["type"]>().toEqualTypeOf<WebhookPayload["type"]>()
    type Encoded = typeof WebhookPayload.Encoded
    type Named<B, T> = Extract<B, { readonly type: T }>
    expectTypeOf<keyof Named<WebhookBody, "relayer.disabled">["payload"]>().toEqualTypeOf<
      keyof Named<Encoded, "relayer.disabled">["payload"]
    >()
  })
})
