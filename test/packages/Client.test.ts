// The client's package in an empty project: its programs compile, run on each Node, and stay small when they are bundled.
// Programs run by the clock of the machine.
import { assert, describe, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { rolldown } from "rolldown"
import { gzipSync } from "node:zlib"
import { evmRelayer } from "../../testkit/fixtures.ts"
import * as Prepared from "../../testkit/Prepared.ts"
import * as TestApi from "../../testkit/TestApi.ts"
import { compile, nodes, output, peers, programsOf, project, root, tools, write } from "./Project.ts"

const name = "@effect-relayer/client"
const [effect = ""] = peers

/**
 * Bytes, compressed, for the entry points that bundle the contract, with the requests and responses of three network types, and the words in
 * which an invalid request is refused.
 */
const limits = { own: 44_000, whole: 108_000 }

class Installed extends Context.Service<Installed, string>()("effect-relayer/test/packages/Client.test/Installed") {
  static readonly layer = Layer.effect(this, project(name, [effect]))
}

const relayer = { ...evmRelayer, id: "treasury", custom_rpc_urls: [] }
const api = Prepared.layer(Effect.andThen(Prepared.references, Prepared.create("relayers", relayer)))

/** The programs of the package's README, which call a service at its usual address. */
const programs = (baseUrl: string) =>
  Effect.map(programsOf("packages/client/README.md"), ([promise = "", node = "", typed = ""]) => ({
    "promise.ts": promise.replace("http://127.0.0.1:8080", baseUrl),
    "node.ts": node,
    "typed.ts": typed.replace("http://127.0.0.1:8080", baseUrl)
  }))

layer(Layer.merge(Installed.layer, api), { excludeTestServices: true })("the client's package", (it) => {
  it.effect("has programs that compile in strict TypeScript, with the types of its dependencies", () =>
    Effect.gen(function* () {
      const home = yield* Installed
      const { baseUrl } = yield* TestApi.TestApi
      yield* write(home, yield* programs(baseUrl))
      assert.strictEqual(yield* compile(home), "")
    })
  )

  for (const { name, file, exists } of nodes) {
    it.effect.skipIf(!exists)(`runs on ${name}`, () =>
      Effect.gen(function* () {
        const home = yield* Installed
        const { baseUrl } = yield* TestApi.TestApi
        yield* write(home, yield* programs(baseUrl))
        const key = { API_KEY: TestApi.apiKey }
        assert.match(yield* output(home, file, ["--no-warnings", "promise.ts"], key), /^0x[0-9a-f]{40}\n$/)
        assert.match(yield* output(home, file, ["--no-warnings", "typed.ts"], key), /^treasury: 0x[0-9a-f]{40}\n$/)
      })
    )
  }

  it.effect("exports its OpenAPI document, which is that of the service", () =>
    Effect.gen(function* () {
      const home = yield* Installed
      const files = [path.join(home, "node_modules", name, "openapi.json"), path.join(root, "openapi.json")]
      const [packed, own] = yield* Effect.promise(() => Promise.all(files.map((file) => fs.readFile(file, "utf8"))))
      assert.strictEqual(packed, own)
    })
  )

  describe("bundled", () => {
    for (const entry of [name, `${name}/promise`]) {
      it.effect(`has at most 44 kB of its own and 108 kB with Effect: ${entry}`, () =>
        Effect.gen(function* () {
          const home = yield* Installed
          const input = path.join(home, "entry.js")
          yield* write(home, { "entry.js": `export * from ${JSON.stringify(entry)}\n` })
          const sizes = {
            own: yield* bundled(input, /^effect(\/|$)/),
            whole: yield* bundled(input),
            esbuild: yield* bundledByEsbuild(home, input)
          }
          process.stdout.write(`${entry}, bytes after gzip: ${JSON.stringify(sizes)}\n`)
          assert.isAtMost(sizes.own, limits.own)
          assert.isAtMost(sizes.whole, limits.whole)
        })
      )
    }
  })
})

const compressed = (code: string | Uint8Array) => gzipSync(code, { level: 9 }).length

const bundled = (input: string, external: RegExp | ReadonlyArray<string> = []) =>
  Effect.promise(async () => {
    const bundle = await rolldown({
      input,
      platform: "browser",
      external: external instanceof RegExp ? external : [...external]
    })
    const { output } = await bundle.generate({ minify: true })
    return compressed(output.map((chunk) => (chunk.type === "chunk" ? chunk.code : "")).join(""))
  })

/** For the report only: esbuild keeps more of Effect's code. */
const bundledByEsbuild = Effect.fnUntraced(function* (home: string, input: string) {
  const outfile = path.join(home, "esbuild.js")
  const options = ["--bundle", "--minify", "--format=esm", "--platform=browser", "--log-level=error"]
  yield* output(home, path.join(tools, "node_modules/.bin/esbuild"), [input, ...options, `--outfile=${outfile}`])
  return compressed(yield* Effect.promise(() => fs.readFile(outfile)))
})
