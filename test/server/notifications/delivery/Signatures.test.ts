// Signing keys during a rotation.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { createHmac } from "node:crypto"
import { verifyWebhook } from "../../../../src/client/Webhook.ts"
import { Notifications } from "../../../../src/server/notifications/Notifications.ts"
import * as Receiver from "../../../../testkit/Receiver.ts"
import * as World from "./World.ts"

const base64 = (key: string, text: string) => createHmac("sha256", key).update(text).digest("base64")

describe("a signing key", () => {
  it.effect("that is replaced signs together with the new key for a day, and a removed key does not", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make
      const notifications = yield* Notifications
      const { id } = yield* World.create(receiver.url)
      const rotate = (key: string) => notifications.update(id, { signing_key: key === "" ? "" : Redacted.make(key) })
      const sent = Effect.fnUntraced(function* (count: number) {
        yield* World.publish("relayer.updated", World.relayer(id))
        // An attempt that is not recorded yet is repeated when the time of the database passes.
        yield* World.attempted(id, ...Array.from({ length: count }, () => 1))
        const seen = receiver.seen[count - 1]
        assert(seen !== undefined)
        const signatures = String(seen.headers["webhook-signature"] ?? "")
          .split(" ")
          .filter((one) => one !== "")
        const verified = (secret: string) =>
          Effect.match(verifyWebhook({ secret, headers: seen.headers, body: seen.body }), {
            onFailure: ({ reason }) => reason,
            onSuccess: () => "ok"
          })
        return { seen, signatures: signatures.length, verified }
      })

      const next = "next-key-0123456789-0123456789-0123456789"
      yield* rotate(next)
      // A repeated patch does not remove the previous key.
      yield* rotate(next)
      const both = yield* sent(1)
      assert.strictEqual(both.signatures, 2)
      assert.strictEqual(yield* both.verified(World.signingKey), "ok")
      assert.strictEqual(yield* both.verified(next), "ok")
      assert.strictEqual(yield* both.verified(`${next}!`), "signature")
      assert.strictEqual(both.seen.headers["x-signature"], base64(next, both.seen.body))

      yield* World.pass("25 hours")
      const one = yield* sent(2)
      assert.strictEqual(one.signatures, 1)
      assert.strictEqual(yield* one.verified(World.signingKey), "signature")

      yield* rotate(`whsec_${Buffer.alloc(24, 7).toString("base64")}`)
      const standard = yield* sent(3)
      assert.strictEqual(standard.signatures, 2)
      assert.strictEqual(yield* standard.verified(`whsec_${Buffer.alloc(24, 7).toString("base64")}`), "ok")

      yield* rotate("")
      const none = yield* sent(4)
      assert.strictEqual(none.signatures, 0)
      assert.strictEqual(yield* none.verified(next), "headers")
      assert.notProperty(none.seen.headers, "x-signature")
    }).pipe(Effect.provide(World.layer()))
  )
})
