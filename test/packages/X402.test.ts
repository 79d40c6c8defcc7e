// The package of the facilitator in an empty project: it compiles there, and loads on each Node. Programs run by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import manifest from "../../package.json" with { type: "json" }
import { compile, nodes, output, peers, project, write } from "./Project.ts"

class Installed extends Context.Service<Installed, string>()("effect-relayer/test/packages/X402.test/Installed") {
  static readonly layer = Layer.effect(
    this,
    project("@effect-relayer/x402", [...peers, `viem@${manifest.dependencies.viem}`])
  )
}

const program = `import { createFacilitator, createHandler } from "@effect-relayer/x402"
import type { Options, Relayers } from "@effect-relayer/x402"

const refused = () => Promise.reject(new Error("there is no service"))
const relayers: Relayers = {
  relayersOf: () => Promise.resolve([{ id: "one", address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" }]),
  find: refused,
  send: refused,
  waitFor: refused,
  cancelPending: refused,
  call: refused,
  claim: refused,
  finish: refused,
  release: refused,
  claimOf: refused
}
const exact: Options["exact"] = class {
  readonly verify = refused
  readonly settle = refused
}
const networks = [{ network: "eip155:8453", blockTime: 2, tokens: [] }]
const handle = createHandler(createFacilitator({ exact, relayers, networks, sellers: [] }))
process.stdout.write(await (await handle(new Request("http://facilitator/supported"))).text())
`

const supported =
  '{"kinds":[{"x402Version":2,"scheme":"exact","network":"eip155:8453"}],"extensions":[],"signers":{"eip155:*":["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"]}}'

layer(Installed.layer, { excludeTestServices: true })("the package of the facilitator", (it) => {
  it.effect("compiles in strict TypeScript", () =>
    Effect.gen(function* () {
      const home = yield* Installed
      yield* write(home, { "facilitator.ts": program })
      assert.strictEqual(yield* compile(home), "")
    })
  )

  for (const { name, file, exists } of nodes) {
    it.effect.skipIf(!exists)(`says on ${name} what it offers`, () =>
      Effect.gen(function* () {
        const home = yield* Installed
        yield* write(home, { "facilitator.ts": program })
        assert.strictEqual(yield* output(home, file, ["--no-warnings", "facilitator.ts"]), supported)
      })
    )
  }
})
