// viem sends, deploys, signs and waits through a relayer, on a real node, without a private key. Anvil makes blocks by the clock of the machine.
import { Effect } from "effect"
import { assert, layer } from "@effect/vitest"
import {
  BaseError,
  ContractFunctionRevertedError,
  createWalletClient,
  defineChain,
  http,
  parseAbi,
  publicActions,
  recoverMessageAddress,
  recoverTypedDataAddress,
  toFunctionSelector
} from "viem"
import { isFinal } from "../../../../../src/networks/core/Transaction.ts"
import { nonceOf } from "../../../../../src/networks/evm/rules/Evm.ts"
import { Ledger } from "../../../../../src/server/ledger/Ledger.ts"
import * as Anvil from "../../../../../testkit/Anvil.ts"
import * as TestApi from "../../../../../testkit/TestApi.ts"
import { until } from "../../../../../testkit/process/Folder.ts"
import { api, becomes, read, receiver as anybody, relayerAt } from "../../../../server/lanes/fixtures.ts"
import type { Given } from "../../../../server/lanes/fixtures.ts"
import { makeKey } from "../../../../server/transactions/Fixtures.ts"
import { rpc } from "./fixtures.ts"

const receiver = anybody as `0x${string}`
const abi = parseAbi(["error Denied(uint256 code)", "function deny()"])
const selector = toFunctionSelector("Denied(uint256)").slice(2)

/** Init code of a contract that answers every call with `Denied(42)`. */
const denying = `0x6015600c60003960156000f363${selector}60e01b600052602a60045260246000fd` as const

/** A relayer on a node, and viem as its users configure it. */
const connect = Effect.fnUntraced(function* (options: Parameters<typeof Anvil.start>[0], given: Given = {}) {
  const node = yield* Anvil.start(options)
  const { relayerId: relayer, relayerNumber, address } = yield* relayerAt(node, given)
  const { baseUrl } = yield* TestApi.TestApi
  const url = `${baseUrl}/api/v1/relayers/${relayer}/rpc`
  const client = createWalletClient({
    account: address as `0x${string}`,
    chain: defineChain({
      id: 31_337,
      name: "local",
      nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
      rpcUrls: { default: { http: [url] } }
    }),
    pollingInterval: 100,
    transport: http(url, {
      fetchOptions: { headers: { authorization: `Bearer ${TestApi.apiKey}` } },
      retryCount: 0,
      timeout: 30_000
    })
  }).extend(publicActions)
  return { node, client, relayer, relayerNumber, address }
})

/** The error that a promise is rejected with. */
const failure = (self: () => Promise<unknown>) =>
  Effect.promise(() =>
    self().then(
      () => assert.fail("it succeeds"),
      (error: unknown) => (error instanceof BaseError ? error : assert.fail(String(error)))
    )
  )

const idOf = Effect.fnUntraced(function* (relayerNumber: number, hash: string) {
  const { transactions } = yield* (yield* Ledger).select({
    filter: { relayerNumbers: [relayerNumber], hashes: [hash] },
    limit: 1
  })
  return transactions[0]?.id ?? assert.fail("the ledger does not know the hash")
})

const blockTime = { blockTime: 1 }
const noMining = { more: ["--no-mining"] }

layer(api, { excludeTestServices: true, concurrent: true })("viem", (it) => {
  it.effect("sends through a relayer, and waits for the receipt", () =>
    Effect.gen(function* () {
      const { client, node, relayerNumber } = yield* connect(blockTime)
      const hash = yield* Effect.promise(() => client.sendTransaction({ to: receiver, value: 7n }))
      const receipt = yield* Effect.promise(() => client.waitForTransactionReceipt({ hash }))
      assert.deepStrictEqual([receipt.status, receipt.transactionHash], ["success", hash])
      assert.strictEqual(yield* node.call("eth_getBalance", [receiver, "latest"]), "0x7")
      assert.strictEqual(nonceOf(yield* becomes(yield* idOf(relayerNumber, hash), "confirmed")), 0)
    })
  )

  it.effect("deploys a contract, and decodes the custom error of a call that reverts", () =>
    Effect.gen(function* () {
      const { client, relayer } = yield* connect(blockTime)
      const hash = yield* Effect.promise(() => client.deployContract({ abi, bytecode: denying }))
      const { contractAddress } = yield* Effect.promise(() => client.waitForTransactionReceipt({ hash }))
      const contract = contractAddress ?? assert.fail("no contract")
      const error = yield* failure(() => client.writeContract({ address: contract, abi, functionName: "deny" }))
      const revert = error.walk((cause) => cause instanceof ContractFunctionRevertedError)
      assert.instanceOf(revert, ContractFunctionRevertedError)
      assert.deepInclude(revert.data, { errorName: "Denied", args: [42n] })
      const next = yield* rpc("eth_getTransactionCount", [client.account.address, "pending"], {
        relayer
      })
      assert.strictEqual(next.result, "0x1")
    })
  )

  it.effect("signs messages and typed data", () =>
    Effect.gen(function* () {
      const { client, address } = yield* connect(noMining)
      const message = "Sign in to example.com"
      const signature = yield* Effect.promise(() => client.signMessage({ message }))
      const signer = yield* Effect.promise(() => recoverMessageAddress({ message, signature }))
      const order = {
        domain: { name: "Example", chainId: 31_337n },
        types: { Order: [{ name: "amount", type: "uint256" }] },
        primaryType: "Order",
        message: { amount: 10n ** 30n }
      } as const
      const typed = yield* Effect.promise(() => client.signTypedData(order))
      const typedSigner = yield* Effect.promise(() => recoverTypedDataAddress({ ...order, signature: typed }))
      assert.deepStrictEqual([signer.toLowerCase(), typedSigner.toLowerCase()], [address, address])
    })
  )

  it.effect("gets the receipt of a bump that replaced the first hash", () =>
    Effect.gen(function* () {
      const { client, node, relayerNumber } = yield* connect(noMining)
      const hash = yield* Effect.promise(() => client.sendTransaction({ to: receiver, value: 7n }))
      const waiting = client.waitForTransactionReceipt({ hash })
      const id = yield* idOf(relayerNumber, hash)
      // The base fee of these blocks is above the price: they pass the transaction by until it is signed again.
      const { maxFeePerGas = 0n } = yield* Effect.promise(() => client.getTransaction({ hash }))
      yield* node.call("anvil_setNextBlockBaseFeePerGas", [`0x${(maxFeePerGas * 4n).toString(16)}`])
      yield* node.call("anvil_mine", ["0x6"])
      yield* until(
        "a bump",
        Effect.map(read(id), ({ attempts }) =>
          attempts.find(({ kind, outcome }) => kind === "bump" && outcome === "accepted")
        )
      )
      const replaced = yield* Effect.promise(() => client.getTransaction({ hash }))
      assert.deepInclude(replaced, { hash, nonce: 0, value: 7n, maxFeePerGas })
      assert.isNull(replaced.blockHash)
      yield* node.call("evm_setIntervalMining", [1])
      const receipt = yield* Effect.promise(() => waiting)
      assert.strictEqual(receipt.status, "success")
      assert.notStrictEqual(receipt.transactionHash, hash)
    })
  )

  it.effect(
    "sends with the nonces that it requires, in any order, no nonce twice, and gets the hash of a call that it repeats",
    () =>
      Effect.gen(function* () {
        const { client } = yield* connect(blockTime)
        const send = (nonce: number, value = 1n) => client.sendTransaction({ to: receiver, value, nonce })
        const hashes = yield* Effect.promise(() => Promise.all([send(1), send(0)]))
        for (const hash of hashes) yield* Effect.promise(() => client.waitForTransactionReceipt({ hash }))
        assert.deepStrictEqual([yield* Effect.promise(() => send(1)), yield* Effect.promise(() => send(0))], hashes)
        assert.include((yield* failure(() => send(1, 2n))).message, "nonce too low: next nonce 2")
      })
  )

  it.effect("shows the hash of a call that another key repeats only to a key that may read it", () =>
    Effect.gen(function* () {
      const { address, client, relayer } = yield* connect(blockTime)
      const call = { from: address, to: receiver, value: "0x1", nonce: "0x0" }
      const send = (key: string) => rpc("eth_sendTransaction", [call], { relayer, key })
      const { result: hash } = yield* send(TestApi.apiKey)
      yield* Effect.promise(() => client.waitForTransactionReceipt({ hash: hash as `0x${string}` }))
      const reader = yield* makeKey(["rpc:call", "transactions:read", "transactions:write"])
      assert.strictEqual((yield* send(reader)).result, hash)
      const writer = yield* makeKey(["rpc:call", "transactions:write"])
      assert.include((yield* send(writer)).error?.message ?? "", "nonce too low: next nonce 1")
    })
  )

  it.effect("learns after 15 seconds that a nonce is too high, or the balance too low", () =>
    Effect.gen(function* () {
      const rich = yield* connect(blockTime)
      const poor = yield* connect(blockTime, { funds: 1000n })
      const [high, low] = yield* Effect.all(
        [
          failure(() => rich.client.sendTransaction({ to: receiver, value: 1n, nonce: 4 })),
          failure(() => poor.client.sendTransaction({ to: receiver, value: 1n }))
        ],
        { concurrency: 2 }
      )
      assert.include(high.message, "nonce too high: next nonce 0")
      assert.include(low.message, "insufficient funds")
      const ledger = yield* Ledger
      for (const { relayerNumber } of [rich, poor]) {
        const { transactions } = yield* ledger.select({ filter: { relayerNumbers: [relayerNumber] }, limit: 1 })
        const [row] = transactions
        assert.isTrue(row?.transaction.attempts.length === 0 && isFinal(row.transaction))
      }
    })
  )

  it.effect("finds a transaction and its receipt before its node does", () =>
    Effect.gen(function* () {
      const { client, node } = yield* connect(noMining)
      const hash = yield* Effect.promise(() => client.sendTransaction({ to: receiver, value: 7n }))
      yield* node.call("anvil_dropAllTransactions", [])
      const found = yield* Effect.promise(() => client.getTransaction({ hash }))
      assert.deepInclude(found, { hash, from: client.account.address, to: receiver, nonce: 0 })
      assert.isNull(found.blockHash)
      yield* node.call("evm_setIntervalMining", [1])
      const receipt = yield* Effect.promise(() => client.waitForTransactionReceipt({ hash }))
      assert.strictEqual(receipt.transactionHash, hash)
    })
  )
})
