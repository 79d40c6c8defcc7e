// The commands of "Use" and of "From the command line" in the README, pasted into a shell next to a new service.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { promisify } from "node:util"
import { folder } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

const readme = path.resolve(import.meta.dirname, "../../README.md")

/** The first shell block of a chapter. */
const blockOf = async (chapter: string) => {
  const [, text = ""] = (await fs.readFile(readme, "utf8")).split(`\n## ${chapter}\n`)
  return /```sh\n([^]*?)```/.exec(text)?.[1] ?? assert.fail(`no commands in ${chapter}`)
}

describe("the README", () => {
  it.live("has commands that can be pasted: those of Use, and then those of the command line", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const service = yield* Service.listen({ folder: home, env: {} })
      const env = { PATH: process.env.PATH, HOME: home, RELAYER_URL: service.baseUrl, NO_COLOR: "1" }
      const paste = Effect.fnUntraced(function* (chapter: string) {
        const commands = (yield* Effect.promise(() => blockOf(chapter)))
          .replaceAll("http://127.0.0.1:8080", service.baseUrl)
          .replaceAll("npm start --silent --", `${process.execPath} ${Service.main}`)
        const run = promisify(execFile)("bash", ["-e", "-c", commands], { cwd: home, env })
        return (yield* Effect.promise(() => run)).stdout
      })

      const used = yield* paste("Use")
      assert.notInclude(used, '"success":false')
      assert.include(used, '"id":"treasury"')
      const called = yield* paste("From the command line")
      assert.match(called, /^treasury +Treasury +evm:sepolia +treasury-key/m)
      assert.match(called, /^er_key_/m)
      assert.include(called, "Relayer deleted successfully")
      assert.isAbove((yield* Effect.promise(() => fs.stat(path.join(home, "relayer.backup")))).size, 0)
    })
  )
})
