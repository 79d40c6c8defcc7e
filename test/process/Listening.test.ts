// The port opens when requests can be answered, not before. Processes run by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { freePort } from "../../testkit/process/Ports.ts"
import { apiKey, start } from "../../testkit/process/Service.ts"
import { folder } from "../../testkit/process/Folder.ts"

/** Much longer than any response takes. A request that no handler received is never answered. */
const limit = "20 seconds"

describe("the first request that a starting service accepts", () => {
  it.live("gets its response", () =>
    Effect.gen(function* () {
      const port = yield* freePort
      yield* start({ folder: yield* folder, env: { API_KEY: apiKey, PORT: String(port) } })
      const health = Effect.tryPromise((signal) => fetch(`http://127.0.0.1:${port}/api/v1/health`, { signal }))
      const response = yield* Effect.retry(Effect.timeoutOption(health, limit), Schedule.spaced("2 millis"))
      assert.isTrue(response._tag === "Some", "the service accepted a connection and did not answer")
    }).pipe(Effect.scoped)
  )
})
