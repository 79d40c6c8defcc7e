// Webhooks as the libraries of Standard Webhooks verify them, with the keys that the service offers. Programs run by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Redacted, Schema } from "effect"
import { randomBytes, randomUUID } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { newSigningKey, signingKeyBytes } from "../../src/domain/notification/Notification.ts"
import { signatureHeaders } from "../../src/server/notifications/delivery/WebhookClient.ts"
import { output, python, root, tools, web3 } from "./Setup.ts"

const body = `{"id":"${randomUUID()}","type":"relayer.disabled","payload":{"amount":340282366920938463463374607431768211455}}`

/** A webhook that is signed now: the libraries refuse older ones than five minutes. */
const signedWith = Effect.fnUntraced(function* (...keys: ReadonlyArray<string>) {
  const timestamp = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  return signatureHeaders({ id: randomUUID(), body, timestamp, keys: keys.map((key) => Redacted.make(key)) })
})

const Examples = Schema.Struct({ examples: Schema.Tuple([Schema.String]) })

const toDocument = Schema.decodeUnknownSync(
  Schema.Struct({
    components: Schema.Struct({
      schemas: Schema.Struct({
        CreateNotificationRequest: Schema.Struct({ properties: Schema.Struct({ signing_key: Examples }) }),
        UpdateNotificationRequest: Schema.Struct({ properties: Schema.Struct({ signing_key: Examples }) })
      })
    })
  })
)

/** The keys of the examples in the description of the API. */
const examples = Effect.sync(() => {
  const { schemas } = toDocument(JSON.parse(fs.readFileSync(path.join(root, "openapi.json"), "utf8"))).components
  const { CreateNotificationRequest: create, UpdateNotificationRequest: update } = schemas
  return [create.properties.signing_key.examples[0], update.properties.signing_key.examples[0]] as const
})

const text = "0123456789abcdef0123456789abcdef"

/** The keys of receivers, and what a library has to say. */
const cases = Effect.gen(function* () {
  const [first, next] = yield* examples
  const made = newSigningKey(randomBytes(signingKeyBytes))
  const rotated = yield* signedWith(next, first)
  const later = yield* signedWith(next)
  const signed = yield* signedWith(text)
  return [
    { key: first, raw: false, headers: yield* signedWith(first), said: "valid" },
    { key: made, headers: yield* signedWith(made), said: "valid" },
    { key: first, headers: rotated, said: "valid" },
    { key: next, headers: rotated, said: "valid" },
    { key: next, headers: later, said: "valid" },
    { key: first, headers: later, said: "refused" },
    { key: text, headers: signed, said: "refused" },
    { key: text, raw: true, headers: signed, said: "valid" }
  ]
})

const judged = Effect.fnUntraced(function* (file: string, script: string) {
  const found = yield* cases
  const given = found.map(({ key, raw = false, headers }) => ({ key, raw, headers, body }))
  const printed = yield* output(tools, {}, file, [script, JSON.stringify(given)])
  assert.deepStrictEqual(
    JSON.parse(printed),
    found.map(({ said }) => said)
  )
})

describe("a receiver with the library of Standard Webhooks", () => {
  it.live("of npm verifies webhooks with the keys that the service offers, also during a rotation", () =>
    judged(process.execPath, "webhooks.mjs")
  )

  it.live.runIf(python !== undefined)("of PyPI verifies them, too (needs Python 3 with venv)", () =>
    Effect.flatMap(web3, (python) => judged(python, "webhooks.py"))
  )
})
