// The runbook of docs/moving.md on a test chain: an account is moved from a service with a nonce counter of its own, and back. No nonce
// is used twice, and none is missing. Anvil makes blocks by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { mnemonicToAccount } from "viem/accounts"
import { load } from "../../../src/cli/configuration/Load.ts"
import { variableReader } from "../../../src/cli/configuration/Tree.ts"
import * as Import from "../../../packages/import/src/Import.ts"
import * as Anvil from "../../../testkit/Anvil.ts"
import { until } from "../../../testkit/process/Folder.ts"
import { api, receiver } from "../lanes/fixtures.ts"
import { applied, call } from "./requests.ts"

/** The words that anvil derives its funded accounts from. */
const words = "test test test test test test test test test test test junk"

const account = mnemonicToAccount(words)

const gwei = 1_000_000_000n

type Node = Effect.Success<ReturnType<typeof Anvil.start>>

const countAt = (node: Node, block: "latest" | "pending") =>
  Effect.map(node.call("eth_getTransactionCount", [account.address, block]), Number)

/** A service that takes the count of the chain when it starts, and counts nonces in its memory from then on. */
const startIncumbent = Effect.fnUntraced(function* (node: Node) {
  let nonce = yield* countAt(node, "latest")
  const send = Effect.gen(function* () {
    const serialized = yield* Effect.promise(() =>
      account.signTransaction({
        type: "eip1559",
        chainId: node.chainId,
        nonce: nonce++,
        to: receiver,
        value: 1n,
        gas: 21_000n,
        maxFeePerGas: 100n * gwei,
        maxPriorityFeePerGas: gwei
      })
    )
    yield* node.call("eth_sendRawTransaction", [serialized])
  })
  return { send: (count: number) => Effect.forEach(Array.from({ length: count }), () => send) }
})

/** Step 6: nothing is pending on the chain. */
const drained = (node: Node) =>
  until(
    "a chain without pending transactions",
    Effect.gen(function* () {
      return (yield* countAt(node, "latest")) === (yield* countAt(node, "pending")) ? true : undefined
    })
  )

/** What the importer writes of the configuration of the old service, with the fields that its report asks for. */
const imported = (node: Node) => {
  const config = {
    name: "moved",
    signing_provider: { raw: { mnemonic: "${RAW_MNEMONIC}" } },
    networks: [{ name: "chain", chain_id: node.chainId, provider_urls: [node.url], confirmations: 1 }]
  }
  const relayer = {
    id: "moved",
    name: "Moved",
    chainId: node.chainId,
    address: account.address,
    walletIndex: 0,
    paused: false
  }
  const outcome = Result.getOrThrow(
    Import.rrelayer(
      { name: "rrelayer.yaml", text: JSON.stringify(config) },
      { name: "relayers.json", text: JSON.stringify([relayer]) },
      undefined,
      { keepPausedState: false, variables: { RAW_MNEMONIC: words } }
    )
  )
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "move-"))
  const file = path.join(folder, "relayers.yaml")
  const overlay = path.join(folder, "chain.yaml")
  fs.writeFileSync(file, outcome.yaml)
  fs.writeFileSync(overlay, "networks: {evm:chain: {average_blocktime_ms: 1000, symbol: ETH, features: [eip1559]}}\n")
  const variables = variableReader({}, [], { RAW_MNEMONIC: words })
  const loaded = Result.getOrThrow(load({ files: [file], overlays: [overlay], roots: [], variables }))
  fs.rmSync(folder, { recursive: true })
  return loaded.document
}

const relayerPath = "/api/v1/relayers/moved"

const setPaused = Effect.fnUntraced(function* (paused: boolean) {
  const answer = yield* call(relayerPath, { method: "PATCH", body: { paused } })
  assert.strictEqual(answer.status, 200, answer.text)
})

interface Sent {
  readonly id: string
  readonly status: string
}

/**
 * Sends through the new service, and waits until all of it is final. The values differ from those of the old service: a request
 * that does the same as a transaction of the account would wait for an operator, because it may have been executed already.
 */
const send = Effect.fnUntraced(function* (count: number) {
  for (let index = 0; index < count; index += 1) {
    const answer = yield* call(`${relayerPath}/transactions`, {
      body: { to: receiver, value: String(2 + index), gas_limit: 21_000 }
    })
    assert.isBelow(answer.status, 300, answer.text)
  }
  yield* until(
    "final transactions",
    Effect.gen(function* () {
      const { json } = yield* call(`${relayerPath}/transactions?per_page=100`)
      const all = json.data as ReadonlyArray<Sent>
      return all.every(({ status }) => status === "confirmed") ? true : undefined
    })
  )
})

/** The nonces of the account in all blocks, in their order. */
const noncesOn = Effect.fnUntraced(function* (node: Node) {
  const head = Number(yield* node.call("eth_blockNumber", []))
  const nonces: Array<number> = []
  for (let number = 0; number <= head; number += 1) {
    const block = (yield* node.call("eth_getBlockByNumber", [`0x${number.toString(16)}`, true])) as {
      readonly transactions: ReadonlyArray<{ readonly from: string; readonly nonce: string }>
    }
    const own = block.transactions.filter(({ from }) => from.toLowerCase() === account.address.toLowerCase())
    nonces.push(...own.map(({ nonce }) => Number(nonce)))
  }
  return nonces
})

layer(api, { excludeTestServices: true })("a move from a running service", (it) => {
  it.effect("and back uses every nonce once: 50 there, 50 here, 10 there", () =>
    Effect.gen(function* () {
      const node = yield* Anvil.start({ blockTime: 1 })
      const old = yield* startIncumbent(node)
      yield* old.send(50)
      // Steps 1 and 2: all relayers are imported paused, and sign nothing while the old service does.
      yield* applied(imported(node))
      const { json } = yield* call(relayerPath)
      assert.deepInclude(json.data, { paused: true, address: account.address.toLowerCase() })
      const refused = yield* call(`${relayerPath}/transactions`, { body: { to: receiver, value: "1" } })
      assert.isAtLeast(refused.status, 400, "a paused relayer accepts nothing")
      // Steps 4 to 7: the old service is drained and stopped.
      yield* drained(node)
      assert.strictEqual(yield* countAt(node, "latest"), 50)
      // Step 8: one transaction, then the others.
      yield* setPaused(false)
      yield* send(1)
      yield* send(49)
      // Step 10: the way back.
      yield* setPaused(true)
      yield* drained(node)
      assert.strictEqual(yield* countAt(node, "latest"), 100)
      const again = yield* startIncumbent(node)
      yield* again.send(10)
      yield* drained(node)
      const nonces = yield* noncesOn(node)
      assert.deepStrictEqual(
        nonces.toSorted((one, other) => one - other),
        Array.from({ length: 110 }, (_, nonce) => nonce)
      )
    })
  )
})
