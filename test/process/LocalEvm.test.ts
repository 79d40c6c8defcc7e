// The end of the local evm network, with a program that takes the place of anvil. Processes run by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as LocalEvm from "../../src/process/development/LocalEvm.ts"
import { folder } from "../../testkit/process/Folder.ts"

/** Answers until the service asks what waits for a block. Then it closes its port, and ends a moment later. */
const dying = `#!${process.execPath}
const { createServer } = require("node:http")
const { gzipSync } = require("node:zlib")
const state = "0x" + gzipSync("{}").toString("hex")
const server = createServer((request, response) => {
  let body = ""
  request.on("data", (chunk) => (body += chunk))
  request.on("end", () => {
    const { method } = JSON.parse(body)
    if (method !== "txpool_status") return response.end(JSON.stringify({ result: method === "anvil_dumpState" ? state : "0x0" }))
    server.closeAllConnections()
    server.close()
    setTimeout(() => process.exit(3), 200)
  })
})
server.listen(0, "127.0.0.1", () => console.log("Listening on 127.0.0.1:" + server.address().port))
`

describe("the local evm network", () => {
  it.live("ends with the reason for the end of its program, also if a call to the program fails first", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const program = path.join(home, "anvil")
      yield* Effect.promise(() => fs.writeFile(program, dying, { mode: 0o755 }))
      const chain = yield* LocalEvm.startChain(program, "1.7.1")(path.join(home, "chain"))
      const { message } = yield* Effect.flip(chain.ended)
      assert.strictEqual(message, "anvil ended with exit code 3: start effect-relayer dev again")
    })
  )
})
