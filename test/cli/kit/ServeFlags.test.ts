// The flags of serve: every setting has one, except secrets.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as Settings from "../../../src/process/settings/Settings.ts"
import { secretSettings, serveFlags } from "../../../src/cli/kit/Environment.ts"
import { variables } from "../../../src/process/settings/Variables.ts"

const masterKey = Buffer.alloc(32).toString("base64")

/** A value for each setting. The examples of some keys are commands that make one. */
const values = {
  ...Object.fromEntries(Settings.described.map(({ name }) => [name, variables[name].example])),
  STORAGE_ENCRYPTION_KEY: masterKey,
  STORAGE_DECRYPTION_KEYS: masterKey
}

describe("the flags of serve", () => {
  it.effect("are all settings that are not secrets", () =>
    Effect.gen(function* () {
      const settings: Record<string, unknown> = { ...(yield* Settings.decode(values)) }
      const secret = Object.keys(settings).filter((name) => Redacted.isRedacted(settings[name]))
      assert.include(secret, "METRICS_TOKEN")
      assert.sameMembers(secret, [...secretSettings])
      const names = Settings.described.map(({ name }) => name as string)
      assert.sameMembers([...Object.keys(serveFlags), ...secret], names)
    })
  )
})
