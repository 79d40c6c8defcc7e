// The commands of "Send a transaction" in the README, pasted into a shell next to a new service and a test chain.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { promisify } from "node:util"
import * as Anvil from "../../testkit/Anvil.ts"
import { folder } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

const readme = path.resolve(import.meta.dirname, "../../README.md")

/** The second block of the section: the first one starts the chain. */
const commands = async () => {
  const [, section = ""] = (await fs.readFile(readme, "utf8")).split("### Send a transaction")
  return section.split("```sh")[2]?.split("```")[0] ?? ""
}

describe("the README", () => {
  it.live("sends a transaction that is confirmed", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const chain = yield* Anvil.start({ blockTime: 1 })
      const service = yield* Service.listen({ folder: home, env: { OUTBOUND_ALLOW: "127.0.0.1", WATCH: "on" } })
      const pasted = (yield* Effect.promise(commands))
        .replaceAll("http://127.0.0.1:8080", service.baseUrl)
        .replaceAll("http://127.0.0.1:8545", chain.url)
        .replaceAll("npm start --", `${process.execPath} ${Service.main}`)
      assert.include(pasted, "transactions wait")
      const { stdout } = yield* Effect.promise(() =>
        promisify(execFile)("bash", ["-c", pasted], {
          cwd: home,
          env: { PATH: process.env.PATH, HOME: home, RELAYER_URL: service.baseUrl }
        })
      )
      assert.notInclude(stdout, '"success":false')
      assert.include(stdout, '"status":"confirmed"')
    }).pipe(Effect.scoped)
  )
})
