// Where the console is on, and where browsers reach it.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { consoleSettingsOf } from "../../../src/process/Service.ts"
import * as Settings from "../../../src/process/settings/Settings.ts"

const of = (given: Record<string, string>) => Effect.map(Settings.decode(given), consoleSettingsOf)

describe("the settings of the console", () => {
  it.effect("turn it on where only this machine reaches it, or where CONSOLE_ORIGINS says, and off elsewhere", () =>
    Effect.gen(function* () {
      for (const HOST of ["127.0.0.1", "localhost", "::1"]) {
        const found = yield* of({ HOST })
        assert.deepStrictEqual([found?.readOnly, found?.origins], [false, []], HOST)
      }
      for (const HOST of ["0.0.0.0", "::", "10.0.0.5", "relayers.internal"])
        assert.isUndefined(yield* of({ HOST }), HOST)
      const CONSOLE_ORIGINS = "https://a.example.com, https://b.example.com"
      assert.deepStrictEqual((yield* of({ HOST: "0.0.0.0", CONSOLE_ORIGINS }))?.origins, [
        "https://a.example.com",
        "https://b.example.com"
      ])
    })
  )

  it.effect("are overruled by CONSOLE, and the address that the service listens on is an origin", () =>
    Effect.gen(function* () {
      assert.isUndefined(yield* of({ CONSOLE: "off", CONSOLE_ORIGINS: "https://a.example.com" }))
      const found = yield* of({ CONSOLE: "read-only", HOST: "10.0.0.5", PORT: "8081" })
      assert.deepStrictEqual([found?.readOnly, found?.origins], [true, ["http://10.0.0.5:8081"]])
      assert.deepStrictEqual((yield* of({ CONSOLE: "on", HOST: "fd00::5", PORT: "80" }))?.origins, ["http://[fd00::5]"])
    })
  )

  it.effect("report what is wrong", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(
        Settings.decode({
          CONSOLE: "yes",
          CONSOLE_ORIGINS: "relayers.example.com",
          CONSOLE_SESSION_HOURS: "0",
          CONSOLE_IDLE_MINUTES: "1"
        })
      )
      for (const name of ["CONSOLE:", "CONSOLE_ORIGINS:", "CONSOLE_SESSION_HOURS:", "CONSOLE_IDLE_MINUTES:"]) {
        assert.include(message, `  ${name}`)
      }
    })
  )
})
