// The blocks of README.md and docs/api.md, pasted into a shell next to `effect-relayer dev`, as they say. `.ci/smoke` pastes them on the
// ports that they name. Processes run by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { promisify } from "node:util"
import { variables } from "../../src/process/settings/Variables.ts"
import { makeProgram } from "../../testkit/process/Commands.ts"
import * as Development from "../../testkit/process/Development.ts"
import * as Service from "../../testkit/process/Service.ts"

const root = path.resolve(import.meta.dirname, "../..")

const read = (document: string) => Effect.promise(() => fs.readFile(path.join(root, document), "utf8"))

/** The first shell block of a chapter. */
const blockOf = Effect.fnUntraced(function* (document: string, chapter: string) {
  const [, text = ""] = (yield* read(document)).split(`\n## ${chapter}\n`)
  return /```sh\n([^]*?)```/.exec(text)?.[1] ?? assert.fail(`no commands in ${chapter}`)
})

describe("the documents", () => {
  it.live("have commands that can be pasted next to effect-relayer dev, in their order", () =>
    Effect.gen(function* () {
      const place = yield* Development.usualPlace
      const dev = yield* Development.start(place)
      const programs = `${yield* makeProgram}:${process.env.PATH}`
      const env = { PATH: programs, HOME: place.home, RELAYER_URL: dev.baseUrl, NO_COLOR: "1" }
      const keyOf = `export API_KEY=$(cat data/dev/api-key)`
      const node = `${process.execPath} ${Service.sources}`
      /** The commands of README.md are processes. */
      const paste = Effect.fnUntraced(function* (
        document: string,
        chapter: string,
        command = "command effect-relayer"
      ) {
        const commands = (yield* blockOf(document, chapter))
          .replaceAll(`http://127.0.0.1:${variables.PORT.default}`, dev.baseUrl)
          .replaceAll("http://127.0.0.1:8545", dev.chainUrl)
          .replaceAll(/npm start (--silent )?--/g, command)
        for (const [url] of commands.matchAll(/http:\/\/127\.0\.0\.1:\d+/g))
          assert.include([dev.baseUrl, dev.chainUrl], url)
        const shell = promisify(execFile)("bash", ["-e", "-c", `${keyOf}\n${commands}`], { cwd: place.home, env })
        const { stdout } = yield* Effect.promise(() => shell)
        assert.notInclude(stdout, '"success":false')
        return stdout
      })

      assert.include(yield* paste("README.md", "Send a transaction", node), '"status":"confirmed"')
      assert.match(yield* paste("README.md", "From the command line", node), /^er_key_/m)

      const called = yield* paste("docs/api.md", "Requests and responses")
      assert.include(called, '"id":"treasury"')
      assert.include(called, '"id":"evm:mine"')
      const commands = yield* paste("docs/api.md", "Commands")
      assert.match(commands, /^treasury +Treasury +evm:dev +treasury-key/m)
      assert.match(commands, /^er_key_/m)
      assert.include(commands, "Relayer deleted successfully")
      assert.isAbove((yield* Effect.promise(() => fs.stat(path.join(place.home, "relayer.backup")))).size, 0)
      yield* Service.stop(dev)
    })
  )

  it.effect("are short where they begin: README.md has at most 140 lines", () =>
    Effect.gen(function* () {
      assert.isAtMost((yield* read("README.md")).trimEnd().split("\n").length, 140)
    })
  )
})
