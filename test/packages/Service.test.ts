// The service's package in an empty project: its programs, which docs/embed.md names, compile and run on each Node.
// Programs run by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { spawn } from "node:child_process"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { freePort } from "../../testkit/process/Ports.ts"
import { until } from "../../testkit/process/Folder.ts"
import * as TestApi from "../../testkit/TestApi.ts"
import { compile, nodes, output, peers, project, root, write } from "./Project.ts"

class Installed extends Context.Service<Installed, string>()("effect-relayer/test/packages/Service.test/Installed") {
  static readonly layer = Layer.effect(this, project("effect-relayer", peers))
}

/** The programs of the package by their file names. Their data directories are direct children of the project. */
const programs = Effect.fnUntraced(function* (home: string) {
  const examples = path.join(home, "node_modules/effect-relayer/examples")
  return yield* Effect.promise(async () => {
    const files = (await fs.readdir(examples)).filter((name) => name.endsWith(".ts"))
    const texts = files.map(async (name) => {
      const text = await fs.readFile(path.join(examples, name), "utf8")
      return [name, text.replaceAll("./data/examples/", "./")] as const
    })
    return Object.fromEntries(await Promise.all(texts)) as Readonly<Record<string, string>>
  })
})

const guide = fs.readFile(path.join(root, "docs/embed.md"), "utf8")

/** Programs that end by themselves. */
const ending = ["without-http.ts", "own-chain.ts", "own-outbound.ts", "own-signer.ts"]

/** Programs that serve: their port, and what a path answers. */
const serving = [
  ["mount.ts", "8081", "/relay/v1/health", 200],
  ["own-keys.ts", "8082", "/api/v1/relayers", 401],
  ["own-limits.ts", "8083", "/v1/health", 200]
] as const

/** Runs a program that serves until the scope ends. */
const served = (home: string, node: string, file: string) =>
  Effect.acquireRelease(
    Effect.sync(() => spawn(node, ["--no-warnings", file], { cwd: home, stdio: "inherit" })),
    (child) =>
      Effect.promise(async () => {
        const ended = new Promise((resolve) => child.once("exit", resolve))
        if (child.exitCode === null && child.kill("SIGTERM")) await ended
      })
  )

const statusOf = (url: string) =>
  Effect.promise(() =>
    fetch(url).then(
      ({ status }) => status,
      () => undefined
    )
  )

layer(Layer.merge(Installed.layer, TestApi.layer()), { excludeTestServices: true })("the service's package", (it) => {
  it.effect("has the programs that the guide names, and they compile in strict TypeScript", () =>
    Effect.gen(function* () {
      const home = yield* Installed
      const shipped = yield* programs(home)
      const named = [...(yield* Effect.promise(() => guide)).matchAll(/examples\/([\w-]+\.ts)/g)].map(
        ([, name]) => name
      )
      assert.sameMembers([...new Set(named)], Object.keys(shipped))
      // These two need a chain: `test/examples.test.ts` runs them.
      assert.sameMembers(Object.keys(shipped), [
        "client.ts",
        "send.ts",
        "send-services.ts",
        ...ending,
        ...serving.map(([name]) => name)
      ])
      yield* write(home, shipped)
      assert.strictEqual(yield* compile(home), "")
    })
  )

  for (const { name, file, exists } of nodes) {
    it.effect.skipIf(!exists)(`runs the programs that end on ${name}`, () =>
      Effect.gen(function* () {
        const home = yield* Installed
        const { baseUrl } = yield* TestApi.TestApi
        yield* write(home, yield* programs(home))
        for (const program of ending) assert.isNotEmpty(yield* output(home, file, ["--no-warnings", program]))
        const called = yield* output(home, file, ["--no-warnings", "client.ts", baseUrl], { API_KEY: TestApi.apiKey })
        assert.match(called, /^client-example on sepolia: 0x[0-9a-f]{40}$/m)
      })
    )

    for (const [program, usual, url, status] of serving) {
      it.effect.skipIf(!exists)(`serves with ${program} on ${name}`, () =>
        Effect.gen(function* () {
          const home = yield* Installed
          const port = yield* freePort
          const text = (yield* programs(home))[program] ?? ""
          assert.include(text, usual)
          yield* write(home, { [program]: text.replaceAll(usual, String(port)) })
          yield* served(home, file, program)
          const answered = yield* until("an answer", statusOf(`http://127.0.0.1:${port}${url}`), "90 seconds")
          assert.strictEqual(answered, status)
        })
      )
    }
  }
})
