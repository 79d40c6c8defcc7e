// The programs of docs/wallet-clients.md, pasted: each sends, and waits across a bump that replaced the hash it was given.
// Programs run by the clock of the machine.
import { evmOf } from "../../testkit/EvmRows.ts"
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { Ledger } from "../../src/server/ledger/Ledger.ts"
import { until } from "../../testkit/process/Folder.ts"
import { api } from "../server/lanes/fixtures.ts"
import { blocksOf, connect, folderWith, output, python, root, tools, web3 } from "./Setup.ts"

interface Pasted {
  readonly section: string
  /** Files of the blocks, in their order. */
  readonly files: ReadonlyArray<string>
  /** Starts them, in their folder. */
  readonly command: readonly [file: string, ...args: ReadonlyArray<string>]
  /** The folder whose packages they use. */
  readonly modules: string
}

/** Runs the blocks while the chain passes their transaction by until it is bumped. They print the hash that is mined. */
const paste = Effect.fnUntraced(function* ({ section, files, command: [run, ...args], modules }: Pasted) {
  const { node, account, env } = yield* connect({ more: ["--no-mining"] })
  const blocks = yield* blocksOf(section)
  assert.strictEqual(blocks.length, files.length)
  const cwd = yield* folderWith(Object.fromEntries(files.map((file, index) => [file, blocks[index] ?? ""])), modules)
  const running = yield* Effect.forkChild(output(cwd, env, run, args))
  const ledger = yield* Ledger
  const sent = Effect.map(
    ledger.select({ filter: { relayerNumbers: [account.relayerNumber] }, limit: 1 }),
    ({ transactions: [row] }) => row && evmOf(row).transaction
  )
  const [first] = yield* until(
    "a transaction in the pool",
    Effect.map(sent, (found) => (found?.state === "submitted" ? found.attempts : undefined))
  ).pipe(Effect.raceFirst(Effect.andThen(Fiber.join(running), Effect.never)))
  const price =
    first?.offer.fees.type === "eip1559" ? first.offer.fees.maxFee : assert.fail("it is not priced by EIP-1559")
  yield* node.call("anvil_setNextBlockBaseFeePerGas", [`0x${(price * 4n).toString(16)}`])
  yield* node.call("anvil_mine", ["0x6"])
  yield* until(
    "a bump in the pool",
    Effect.map(sent, (found) => found?.attempts.find(({ kind, outcome }) => kind === "bump" && outcome === "accepted"))
  )
  yield* node.call("evm_setIntervalMining", [1])
  const printed = yield* Fiber.join(running)
  const mined = yield* until(
    "the receipt in the ledger",
    Effect.map(sent, (found) => found?.attempts.find(({ ordinal }) => ordinal === found.mined?.ordinal))
  )
  assert.notStrictEqual(mined.kind, "original")
  assert.include(printed, mined.hash)
})

layer(api, { excludeTestServices: true })("the block of docs/wallet-clients.md for", (it) => {
  it.effect("viem sends", () =>
    paste({ section: "viem", files: ["send.mjs"], command: [process.execPath, "send.mjs"], modules: root })
  )

  it.effect("ethers sends", () =>
    paste({ section: "ethers", files: ["send.mjs"], command: [process.execPath, "send.mjs"], modules: tools })
  )

  it.effect("Foundry sends", () =>
    paste({ section: "Foundry", files: ["send.sh"], command: ["bash", "send.sh"], modules: tools })
  )

  it.effect("Hardhat sends", () =>
    paste({
      section: "Hardhat",
      files: ["hardhat.config.js", "send.js"],
      // Without `--no-compile`, it downloads a list of compilers.
      command: ["hardhat", "run", "--no-compile", "send.js", "--network", "relayer"],
      modules: tools
    })
  )

  it.effect.runIf(python !== undefined)("web3.py sends (needs Python 3 with venv)", () =>
    Effect.flatMap(web3, (python) =>
      paste({ section: "web3.py", files: ["send.py"], command: [python, "send.py"], modules: tools })
    )
  )
})
