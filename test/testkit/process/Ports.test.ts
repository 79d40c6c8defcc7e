// The ports that tests choose before a process listens on them.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { freePort } from "../../../testkit/process/Ports.ts"

/** The first port that Linux gives to a server that listens on port 0, and to an outgoing connection. macOS and Windows begin at 49,152. */
const firstGiven = 32_768

describe("a free port", () => {
  it.effect("is none that the system gives to another program, and is given once", () =>
    Effect.gen(function* () {
      const ports = yield* Effect.replicateEffect(freePort, 500)
      for (const port of ports) assert.isBelow(port, firstGiven)
      assert.strictEqual(new Set(ports).size, ports.length)
    })
  )
})
