// The verifier for plain Node in a project without Effect: it compiles, and verifies a webhook that this service has signed.
// Programs run by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Context, DateTime, Effect, Layer, Redacted } from "effect"
import { existsSync } from "node:fs"
import * as path from "node:path"
import * as Webhook from "../../src/domain/notification/Webhook.ts"
import { signatureHeaders } from "../../src/server/notifications/delivery/WebhookClient.ts"
import { compile, nodes, output, programsOf, project, write } from "./Project.ts"

class Installed extends Context.Service<Installed, string>()(
  "effect-relayer/test/packages/WebhookNode.test/Installed"
) {
  static readonly layer = Layer.effect(this, project("@effect-relayer/client", ["--omit=peer"]))
}

const secret = "0123456789abcdef0123456789abcdef"

const verify = `
import { verifyWebhook } from "@effect-relayer/client/webhook/node"
const { headers, body } = JSON.parse(process.env["WEBHOOK"] ?? "")
const webhook = verifyWebhook({ secret: "${secret}", headers, body })
console.log(webhook.type === "test" ? webhook.payload.notification_id : "")
`

/** A webhook that was signed now. */
const signed = Effect.map(DateTime.now, (at) => {
  const id = "0191e9a0-0000-4000-8000-000000000000"
  const body = Webhook.testBody({ id, at, notificationId: "ops" })
  const timestamp = Math.floor(DateTime.toEpochMillis(at) / 1000)
  return { body, headers: signatureHeaders({ id, body, timestamp, keys: [Redacted.make(secret)] }) }
})

layer(Installed.layer, { excludeTestServices: true })("the verifier for plain Node", (it) => {
  it.effect("compiles without Effect, as the program of the README does", () =>
    Effect.gen(function* () {
      const home = yield* Installed
      const [, receiver = ""] = yield* programsOf("packages/client/README.md")
      yield* write(home, { "verify.ts": verify, "receiver.ts": receiver })
      assert.isFalse(existsSync(path.join(home, "node_modules/effect")))
      assert.strictEqual(yield* compile(home), "")
    })
  )

  for (const { name, file, exists } of nodes) {
    it.effect.skipIf(!exists)(`verifies a webhook on ${name}`, () =>
      Effect.gen(function* () {
        const home = yield* Installed
        yield* write(home, { "verify.ts": verify })
        const webhook = { WEBHOOK: JSON.stringify(yield* signed) }
        assert.strictEqual(yield* output(home, file, ["--no-warnings", "verify.ts"], webhook), "ops\n")
      })
    )
  }
})
