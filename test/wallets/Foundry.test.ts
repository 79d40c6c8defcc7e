// The block of docs/wallet-clients.md for `forge script`, and `forge create`, in a project that has a counter.
// Programs run by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { Ledger } from "../../src/server/ledger/Ledger.ts"
import { folder } from "../../testkit/process/Folder.ts"
import { api } from "../server/lanes/fixtures.ts"
import { blocksOf, connect, output, tools } from "./Setup.ts"

/** A copy of tools/wallets/foundry with the file `deploy.sh`, in which forge writes what it has compiled and sent. */
const projectWith = Effect.fnUntraced(function* (script: string) {
  const home = yield* folder
  yield* Effect.promise(async () => {
    await fs.cp(path.join(tools, "foundry"), home, { recursive: true })
    await fs.symlink(path.join(tools, "node_modules"), path.join(home, "node_modules"))
    await fs.writeFile(path.join(home, "deploy.sh"), script)
  })
  return home
})

layer(api, { excludeTestServices: true })("through a relayer,", (it) => {
  it.effect.each([" --slow", ""])("forge script%s deploys a contract and calls it", (option) =>
    Effect.gen(function* () {
      const { node, account, env } = yield* connect({ blockTime: 1 })
      const [endpoint = "", script = ""] = yield* blocksOf("forge script")
      const cwd = yield* projectWith(script.replace(" --slow", option))
      yield* Effect.promise(() => fs.appendFile(path.join(cwd, "foundry.toml"), endpoint))
      assert.include(yield* output(cwd, env, "bash", ["deploy.sh"]), "ONCHAIN EXECUTION COMPLETE & SUCCESSFUL")

      const { transactions } = yield* (yield* Ledger).select({
        filter: { relayerNumbers: [account.relayerNumber] },
        limit: 10
      })
      assert.strictEqual(transactions.length, 3)
      const broadcast = path.join(cwd, "broadcast/Counter.s.sol", String(node.chainId), "run-latest.json")
      const { receipts } = JSON.parse(yield* Effect.promise(() => fs.readFile(broadcast, "utf8")))
      const to = receipts[0].contractAddress
      const number = yield* node.call("eth_call", [{ to, data: "0x8381f58a" }, "latest"])
      assert.strictEqual(Number(number), 2)
    })
  )

  it.effect("forge create deploys a contract", () =>
    Effect.gen(function* () {
      const { node, account, env } = yield* connect({ blockTime: 1 })
      const script = [
        'export ETH_RPC_URL=$RELAYER_RPC ETH_RPC_HEADERS="authorization: Bearer $API_KEY"',
        `forge create --json --broadcast --unlocked --from ${account.address} src/Counter.sol:Counter`
      ]
      const cwd = yield* projectWith(script.join("\n"))
      const { deployedTo } = JSON.parse(yield* output(cwd, env, "bash", ["deploy.sh"]))
      assert.match(String(yield* node.call("eth_getCode", [deployedTo, "latest"])), /^0x[0-9a-f]{20}/)
    })
  )
})
