// The examples of wallet clients print what they describe. Programs run by the clock of the machine.
import { assert, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs/promises"
import { createRequire } from "node:module"
import * as path from "node:path"
import { api } from "../server/lanes/fixtures.ts"
import { connect, folderWith, output, root, sponsored, sponsoring, tools } from "./Setup.ts"

const prints = Effect.fnUntraced(function* (name: string, modules: string) {
  const { env } = yield* connect({ blockTime: 1 })
  const text = yield* Effect.promise(() => fs.readFile(path.join(root, "examples", name), "utf8"))
  const cwd = yield* folderWith({ [name]: text }, modules)
  const printed = yield* output(cwd, env, process.execPath, [name])
  assert.match(printed, /^signed: true\nsent: (success|1) 0x[0-9a-f]{64}\nrefused: gas: must be at least 21000/)
})

layer(api, { excludeTestServices: true })("the example of", (it) => {
  it.effect("viem signs, sends, and is refused", () => prints("viem.mjs", root))

  it.effect("ethers signs, sends, and is refused", () => prints("ethers.mjs", tools))

  it.effect("ethers has a call of a user without ether sponsored", () =>
    Effect.gen(function* () {
      const { env, stored } = yield* sponsoring({ blockTime: 1 })
      const name = "sponsor-ethers.mjs"
      const text = yield* Effect.promise(() => fs.readFile(path.join(root, "examples", name), "utf8"))
      const cwd = yield* folderWith({ [name]: text }, tools)
      assert.match(yield* output(cwd, env, process.execPath, [name]), sponsored)
      assert.strictEqual(yield* stored, env.DATA)
    })
  )
})

interface Solc {
  compile(input: string): string
}

it("examples/x402 deploys what solc makes of its token", async () => {
  const read = (name: string) => fs.readFile(path.join(root, "examples/x402", name), "utf8")
  const solc: Solc = createRequire(path.join(tools, "package.json"))("solc")
  const { settings, bytecode } = JSON.parse(await read("Token.json"))
  const sources = { "Token.sol": { content: await read("Token.sol") } }
  const { contracts } = JSON.parse(solc.compile(JSON.stringify({ language: "Solidity", sources, settings })))
  assert.strictEqual(`0x${contracts["Token.sol"].Token.evm.bytecode.object}`, bytecode)
})
