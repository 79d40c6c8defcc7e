// The test kit of the packed package in an empty project, with `effect` as its only other package.
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import manifest from "../../package.json" with { type: "json" }
import { compile, nodes, output, programsOf, project, write } from "./Project.ts"

class Installed extends Context.Service<Installed, string>()("effect-relayer/test/packages/TestKit.test/Installed") {
  static readonly layer = Layer.effect(this, project("effect-relayer", [`effect@${manifest.devDependencies.effect}`]))
}

/** Milliseconds of processor time that a test of a host program may take with its imports. */
const mostMillis = 2000

/** Imports a test file, and prints the processor time of its process when it ends. */
const measured = (file: string) => `process.on("exit", () => {
  const { system, user } = process.cpuUsage()
  console.log("milliseconds " + Math.round((system + user) / 1000))
})
await import("./${file}")
`

layer(Installed.layer)("the test kit of the package", (it) => {
  it.effect("has complete tests in its guide, which compile in strict TypeScript", () =>
    Effect.gen(function* () {
      const home = yield* Installed
      const [first = "", second = "", solana = "", stellar = "", real = ""] = yield* programsOf("docs/testing.md")
      yield* write(home, {
        "payment.test.ts": first,
        "scenario.test.ts": second,
        "solana.test.ts": solana,
        "stellar.test.ts": stellar,
        "real.ts": real
      })
      assert.strictEqual(yield* compile(home), "")
    })
  )

  for (const { name, file, exists } of nodes) {
    it.effect.skipIf(!exists)(`runs the tests of the guide on ${name}, the first one within ${mostMillis} ms`, () =>
      Effect.gen(function* () {
        const home = yield* Installed
        const [first = "", second = "", solana = "", stellar = ""] = yield* programsOf("docs/testing.md")
        yield* write(home, {
          "payment.test.ts": first,
          "scenario.test.ts": second,
          "solana.test.ts": solana,
          "stellar.test.ts": stellar,
          "measured.mjs": measured("payment.test.ts")
        })
        const types = ["--no-warnings", "--experimental-strip-types"]
        const printed = yield* output(home, file, [...types, "measured.mjs"])
        assert.include(printed, "a payment is made once")
        assert.isBelow(Number(/milliseconds (\d+)/.exec(printed)?.[1]), mostMillis)
        assert.match(yield* output(home, file, [...types, "scenario.test.ts"]), /(pass 2|# pass 2)/)
        assert.include(yield* output(home, file, [...types, "solana.test.ts"]), "by its second blockhash")
        assert.include(yield* output(home, file, [...types, "stellar.test.ts"]), "when prices have fallen")
      })
    )
  }
})
