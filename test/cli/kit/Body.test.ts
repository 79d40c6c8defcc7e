// The request body of a command, from data, flags and files.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Redacted } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { CreateNotification, UpdateNotification } from "../../../src/domain/notification/Notification.ts"
import { readBody, readPatch } from "../../../src/cli/kit/Field.ts"
import type { CommandFailed } from "../../../src/cli/kit/Terminal.ts"
import { CreateRelayer } from "../../../src/domain/relayer/Relayer.ts"
import { CreateSigner } from "../../../src/domain/signer/CreateSigner.ts"
import { evmRelayer } from "../../../testkit/fixtures.ts"
import { folder } from "../../../testkit/process/Folder.ts"

const file = (text: string) =>
  Effect.flatMap(folder, (home) => {
    const name = path.join(home, "input")
    return Effect.as(
      Effect.promise(() => fs.writeFile(name, text)),
      name
    )
  })

const given = (
  data: string | undefined,
  fields: Record<string, unknown> = {},
  secrets: Record<string, string> = {}
) => {
  const options = <A>(values: Record<string, A>) =>
    Object.fromEntries(Object.entries(values).map(([key, value]) => [key, Option.some(value)]))
  return { data: Option.fromUndefinedOr(data), fields: options(fields), secrets: options(secrets) }
}

const refusal = <A>(self: Effect.Effect<A, CommandFailed>) =>
  Effect.map(Effect.flip(self), ({ message, exitCode }) => {
    assert.strictEqual(exitCode, 2)
    return message
  })

describe("the request of a command", () => {
  it.effect("contains its data with every digit, overridden by flags, over the defaults", () =>
    Effect.gen(function* () {
      const { paused: _, ...relayer } = evmRelayer
      const text = JSON.stringify({ ...relayer, policies: {} }).replace(
        '"policies":{}',
        `"policies":{"min_balance":${2n ** 127n}}`
      )
      const read = yield* readBody(CreateRelayer, given(text, { name: "By flag" }), {
        paused: true,
        name: "By default"
      })
      assert.strictEqual(read.name, "By flag")
      assert.isTrue(read.paused)
      assert.isTrue(read.network_type === "evm" && read.policies?.min_balance === 2n ** 127n)
      const data = yield* file(text)
      assert.deepStrictEqual(
        yield* readBody(CreateRelayer, given(`@${data}`, { name: "By flag" }), { paused: true }),
        read
      )
    })
  )

  it.effect("contains secrets from files without the newline at the end", () =>
    Effect.gen(function* () {
      const key = "1".repeat(64)
      const fields = { type: "plain" }
      const signer = yield* readBody(CreateSigner, given(undefined, fields, { "config.key": yield* file(`${key}\n`) }))
      assert.isTrue(signer.type === "plain" && signer.config?.key !== undefined)
      if (signer.type === "plain" && signer.config?.key !== undefined) {
        assert.strictEqual(Redacted.value(signer.config.key), key)
      }
    })
  )

  it.effect("refuses a secret on the command line without repeating it", () =>
    Effect.gen(function* () {
      const key = "2".repeat(64)
      const inline = given(`{"type": "plain", "config": {"key": "${key}"}}`)
      const request = { ...inline, secrets: { "config.key": Option.none() } }
      const message = yield* refusal(readBody(CreateSigner, request))
      assert.match(message, /^config\.key is a secret/)
      assert.notInclude(message, key)
      const removal = { ...given('{"signing_key": ""}'), secrets: { signing_key: Option.none() } }
      assert.deepStrictEqual(yield* readPatch(UpdateNotification, removal), { signing_key: "" })
    })
  )

  it.effect("is refused with the errors of the service before it is sent", () =>
    Effect.gen(function* () {
      const url = "ftp://example.com"
      const wrong = yield* refusal(readBody(CreateNotification, given('{"id": "a b", "more": 1}', { url })))
      assert.include(wrong, "id: Expected 1 to 36 letters, digits, dashes and underscores")
      assert.include(wrong, "url: Expected an http or https URL")
      assert.include(wrong, "more: is not a known field")
      assert.strictEqual(yield* refusal(readBody(CreateNotification, given("{"))), "--data: expected JSON")
      const broken = yield* file('{\n  "id": }')
      const data = readBody(CreateNotification, given(`@${broken}`))
      assert.strictEqual(yield* refusal(data), `--data: expected JSON (${broken}:2:9)`)
      assert.strictEqual(yield* refusal(readBody(CreateNotification, given("[]"))), "--data: expected a JSON object")
      assert.include(yield* refusal(readBody(CreateNotification, given("@/nowhere"))), "cannot read /nowhere")
    })
  )

  it.effect("of a change names at least one field", () =>
    Effect.gen(function* () {
      assert.match(yield* refusal(readPatch(UpdateNotification, given(undefined))), /^there is nothing to change/)
    })
  )
})
