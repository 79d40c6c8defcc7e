// The ports that tests choose before a process listens on them.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import { freePort } from "../../../testkit/process/Ports.ts"

/** The ports that Linux gives to servers that listen on port 0, and to outgoing connections. */
const range = "/proc/sys/net/ipv4/ip_local_port_range"

const [first = 0, last = 0] = fs.existsSync(range) ? fs.readFileSync(range, "utf8").trim().split(/\s+/).map(Number) : []

describe("a free port", () => {
  // A machine with another range than that of Linux has chosen it itself.
  it.effect.skipIf(first !== 32_768)("is none that the system gives to another program, and is given once", () =>
    Effect.gen(function* () {
      const ports = yield* Effect.replicateEffect(freePort, 500)
      for (const port of ports) assert.isFalse(port >= first && port <= last, `${port} is from ${first} to ${last}`)
      assert.strictEqual(new Set(ports).size, ports.length)
    })
  )
})
