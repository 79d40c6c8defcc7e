// The ports that tests choose before a process listens on them.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import { freePort } from "../../testkit/process/Connection.ts"

/** The ports that Linux gives to servers that listen on port 0, and to outgoing connections. */
const range = "/proc/sys/net/ipv4/ip_local_port_range"

describe("a free port", () => {
  it.effect.skipIf(!fs.existsSync(range))("is none that the system gives to another program meanwhile", () =>
    Effect.gen(function* () {
      const [first = 0, last = 0] = fs.readFileSync(range, "utf8").trim().split(/\s+/).map(Number)
      for (let count = 0; count < 50; count++) {
        const port = yield* freePort
        assert.isFalse(port >= first && port <= last, `${port} is between ${first} and ${last}`)
      }
    })
  )
})
