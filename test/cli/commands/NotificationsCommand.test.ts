// Keys of webhooks that the command line and the console make.
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { TestConsole } from "effect/testing"
import * as Cli from "../../../src/cli/Cli.ts"
import { Environment } from "../../../src/cli/kit/Environment.ts"
import { SigningKey, signingKeyBytes } from "../../../src/domain/notification/Notification.ts"
import { makeSigningKey } from "../../../web/src/data/SigningKey.ts"

const isAccepted = Schema.decodeUnknownEffect(SigningKey)

/** What a library of Standard Webhooks does with a key: the prefix goes, and the rest is base64. */
const bytesOf = (key: string) => Buffer.from(key.replace(/^whsec_/u, ""), "base64")

const check = Effect.fnUntraced(function* (made: ReadonlyArray<string>) {
  for (const key of made) {
    yield* isAccepted(key)
    assert.match(key, /^whsec_[A-Za-z0-9+/]+=$/u)
    assert.lengthOf(bytesOf(key), signingKeyBytes)
  }
  assert.strictEqual(new Set(made).size, made.length)
})

describe("a made key of webhooks", () => {
  it.effect("is printed by notifications key, another one each time, in the form of Standard Webhooks", () =>
    Effect.gen(function* () {
      const run = Cli.run(["notifications", "key"], "1.0.0", () => Effect.void)
      yield* run
      yield* run
      yield* check((yield* TestConsole.logLines).map(String))
    }).pipe(
      Effect.provide([NodeServices.layer, Layer.succeed(Environment, { variables: {}, dotEnv: {}, isTerminal: false })])
    )
  )

  it.effect("is offered by the console in the same form", () => check([makeSigningKey(), makeSigningKey()]))
})
