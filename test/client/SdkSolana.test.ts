// The published SDK of another relayer service works with solana relayers unchanged. The cluster is in memory.
// The cluster makes blocks by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import type {
  CreateRelayerRequest,
  JsonRpcRequestNetworkRpcRequest,
  NetworkTransactionRequest,
  SignTransactionResponseSolana,
  SolanaPrepareTransactionResult,
  SolanaTransactionResponse
} from "@openzeppelin/relayer-sdk"
import { RelayerNetworkType } from "@openzeppelin/relayer-sdk"
import { Effect, Result } from "effect"
import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { promisify } from "node:util"
import { folder } from "../../testkit/process/Folder.ts"
import * as Prepared from "../../testkit/Prepared.ts"
import * as Tokens from "../../testkit/solana/Tokens.ts"
import * as TestApi from "../../testkit/TestApi.ts"
import { systemProgram } from "../../src/networks/solana/rules/Programs.ts"
import { bytesOf } from "../../src/networks/solana/rules/SolanaExchanges.ts"
import { pemOf } from "../testkit/solana/World.ts"
import { memo, receiver, sol } from "../networks/solana/lane/World.ts"
import * as Paying from "../networks/solana/requests/Paying.ts"
import { api, memoOf, prebuilt, recent, relayerAt } from "../networks/solana/requests/Relayers.ts"
import { callsOf } from "./SdkCalls.ts"

const makeWith = Effect.fnUntraced(function* (policies: object) {
  const relayer = yield* relayerAt(policies)
  const { answer, refusal, sdk } = yield* callsOf(relayer.id)
  const send = (request: NetworkTransactionRequest) =>
    Effect.map(
      answer((one, id) => one.sendTransaction(id, request)),
      (sent) => sent as SolanaTransactionResponse
    )
  /** The result of a JSON-RPC call. */
  const rpc = (method: string, params: object) =>
    Effect.map(
      Effect.promise(() =>
        sdk.rpc(relayer.id, { jsonrpc: "2.0", id: 1, method, params } as JsonRpcRequestNetworkRpcRequest)
      ),
      ({ data }) => {
        assert.isDefined(data.result, JSON.stringify(data))
        return data.result as Readonly<Partial<Record<"transaction" | "signature" | "id", string>>>
      }
    )
  return { ...relayer, answer, refusal, rpc, sdk, send }
})

const make = makeWith({})

const instructions = (from: string) => ({
  instructions: [
    {
      program_id: systemProgram,
      accounts: [
        { pubkey: from, is_signer: true, is_writable: true },
        { pubkey: receiver, is_signer: false, is_writable: true }
      ],
      data: Buffer.from([2, 0, 0, 0, 0, 202, 154, 59, 0, 0, 0, 0]).toString("base64")
    }
  ]
})

layer(api, { excludeTestServices: true, concurrent: true })("the SDK with a solana relayer", (it) => {
  it.effect("sends instructions and reads the transaction until it is confirmed", () =>
    Effect.gen(function* () {
      const { address, answer, becomes, cluster, send } = yield* make
      const sent = yield* send(instructions(address))
      assert.deepStrictEqual([sent.status, sent.transaction], ["pending", ""])
      yield* becomes(sent.id, "confirmed")
      const read = yield* answer((sdk, id) => sdk.getTransactionById(id, sent.id))
      assert.strictEqual((read as SolanaTransactionResponse).status, "confirmed")
      assert.strictEqual(cluster.balanceOf(receiver), sol)
    })
  )

  it.effect("sends a prebuilt transaction", () =>
    Effect.gen(function* () {
      const { address, becomes, cluster, send } = yield* make
      const transaction = prebuilt(address, recent(cluster), memoOf("sdk"))
      const { id } = yield* send({ transaction })
      yield* becomes(id, "confirmed")
    })
  )

  it.effect("lists transactions", () =>
    Effect.gen(function* () {
      const { answer, send } = yield* make
      const { id } = yield* send(memo("listed") as NetworkTransactionRequest)
      const listed = yield* answer((sdk, relayer) => sdk.listTransactions(relayer))
      assert.deepStrictEqual(
        listed.map((one) => one.id),
        [id]
      )
    })
  )

  it.effect("replaces and cancels a transaction that is not signed", () =>
    Effect.gen(function* () {
      const { answer, node, send } = yield* make
      node.isAway = true
      const { id } = yield* send(memo("first") as NetworkTransactionRequest)
      const replaced = yield* answer((sdk, relayer) =>
        sdk.replaceTransaction(relayer, id, memo("second") as NetworkTransactionRequest)
      )
      const [instruction] = (replaced as SolanaTransactionResponse).instructions ?? []
      assert.strictEqual(Buffer.from(instruction?.data ?? "", "base64").toString(), "second")
      const canceled = yield* answer((sdk, relayer) => sdk.cancelTransaction(relayer, id))
      assert.strictEqual((canceled as SolanaTransactionResponse).status, "canceled")
    })
  )

  it.effect("cancels all pending transactions", () =>
    Effect.gen(function* () {
      const { answer, node, send } = yield* make
      node.isAway = true
      const { id } = yield* send(memo("pending") as NetworkTransactionRequest)
      const found = yield* answer((sdk, relayer) => sdk.deletePendingTransactions(relayer))
      assert.deepStrictEqual(found.queued_for_cancellation_transaction_ids, [id])
    })
  )

  it.effect("gets a transaction signed, and sends it itself", () =>
    Effect.gen(function* () {
      const { address, answer, cluster } = yield* make
      const transaction = prebuilt(address, recent(cluster), memoOf("signed"))
      const signed = (yield* answer((sdk, id) =>
        sdk.signTransaction(id, { transaction })
      )) as SignTransactionResponseSolana
      assert.isTrue(Result.isSuccess(cluster.take(bytesOf(signed.transaction))))
      cluster.produce(1)
      assert.strictEqual(cluster.successes(address), 1)
      assert.isTrue(cluster.sent.has(signed.signature))
    })
  )

  it.effect("reads status and balance", () =>
    Effect.gen(function* () {
      const { address, answer } = yield* make
      const status = yield* answer((sdk, id) => sdk.getRelayerStatus(id))
      assert.deepStrictEqual([status.network_type, String(status.balance)], ["solana", String(10n * sol)])
      const balance = yield* answer((sdk, id) => sdk.getRelayerBalance(id))
      assert.strictEqual(String(balance.balance), String(10n * sol))
      assert.isAbove(address.length, 31)
    })
  )

  it.effect("quotes and builds a transaction whose user pays, and sends it with the user's signature", () =>
    Effect.gen(function* () {
      const { address, answer, becomes, cluster, send } = yield* makeWith(Paying.policies)
      Paying.prepare(cluster, address)
      const request = { transaction: Paying.wanted("sdk"), fee_token: Paying.mint }
      const quoted = yield* answer((sdk, id) => sdk.quoteSponsoredTransaction(id, request))
      assert.deepInclude(quoted, { estimated_fee: "0.0015", conversion_rate: "150" })
      const built = (yield* answer((sdk, id) =>
        sdk.buildSponsoredTransaction(id, request)
      )) as SolanaPrepareTransactionResult
      assert.strictEqual(built.fee_in_spl, String(Paying.fee.units))
      const { id } = yield* send({ transaction: Paying.signedByUser(built.transaction) })
      yield* becomes(id, "confirmed")
    })
  )

  it.effect("runs examples/openzeppelin-solana.mjs: a user without SOL pays in a token", () =>
    Effect.gen(function* () {
      const { address, cluster, id } = yield* makeWith(Paying.policies)
      const { baseUrl } = yield* TestApi.TestApi
      Paying.prepare(cluster, address)
      const directory = yield* folder
      const key = path.join(directory, "user.pem")
      const script = path.join(import.meta.dirname, "../../examples/openzeppelin-solana.mjs")
      const { stdout } = yield* Effect.promise(async (signal) => {
        await fs.writeFile(key, pemOf(Paying.userKey))
        return promisify(execFile)(process.execPath, [script, id, Paying.mint, key], {
          env: { RELAYER_URL: baseUrl, API_KEY: TestApi.apiKey },
          signal
        })
      })
      const [costs, sent, ended] = stdout.split("\n")
      assert.strictEqual(costs, "costs: 0.0015 tokens")
      assert.match(sent ?? "", /^sent: [0-9a-f-]{36} pending$/)
      assert.match(ended ?? "", /^ended: confirmed \w{86,88}$/)
      assert.strictEqual(cluster.balanceOf(Paying.user), 0n)
    })
  )

  it.effect("calls methods that the service answers itself, and those that a provider answers", () =>
    Effect.gen(function* () {
      const { address, becomes, cluster, rpc } = yield* makeWith(Paying.policies)
      Paying.prepare(cluster, address)
      const { mint, signedByUser, wanted } = Paying
      assert.deepInclude<object>(yield* rpc("getFeaturesEnabled", {}), { features: ["gasless"] })
      assert.include(JSON.stringify(yield* rpc("getSupportedTokens", {})), mint)
      const request = { transaction: wanted("sdk rpc"), fee_token: mint }
      assert.deepInclude<object>(yield* rpc("feeEstimate", request), { estimated_fee: "0.0015" })
      const built = yield* rpc("prepareTransaction", request)
      const signed = yield* rpc("signAndSendTransaction", { transaction: signedByUser(built.transaction ?? "") })
      assert.strictEqual((yield* becomes(signed.id ?? "", "confirmed")).signature, signed.signature)
      const other = yield* rpc("prepareTransaction", { ...request, transaction: wanted("signed only") })
      const only = yield* rpc("signTransaction", { transaction: signedByUser(other.transaction ?? "") })
      assert.match(only.signature ?? "", /^\w{86,88}$/u)
      cluster.put({ [Paying.accountOf(receiver)]: Tokens.holding({ mint, owner: receiver, amount: 0n }) })
      cluster.produce(2)
      const transfer = { amount: 5000, token: mint, source: Paying.user, destination: receiver }
      assert.isString((yield* rpc("transferTransaction", transfer)).transaction)
      assert.deepInclude<object>(yield* rpc("getBalance", [address]), { value: Number(cluster.balanceOf(address)) })
    })
  )

  it.effect("creates a relayer, reads, lists, pauses and deletes it", () =>
    Effect.gen(function* () {
      const { answer, id, refusal, sdk } = yield* make
      const found = yield* answer((one, relayer) => one.getRelayer(relayer))
      assert.deepInclude(found, { id, network_type: RelayerNetworkType.SOLANA, paused: false })
      const created = randomUUID()
      const request = {
        id: created,
        name: "second",
        network: id,
        network_type: RelayerNetworkType.SOLANA,
        paused: false,
        signer_id: created,
        policies: { fee_payment_strategy: "relayer" }
      } as const
      yield* Prepared.create("signers", { id: created, type: "plain" })
      yield* answer((one) => one.createRelayer(request as CreateRelayerRequest))
      const listed = yield* Effect.promise(() => sdk.listRelayers(1, 100))
      assert.includeMembers(listed.data.data?.map((one) => one.id) ?? [], [id, created])
      const paused = yield* answer((one) => one.updateRelayer(created, { paused: true }))
      assert.strictEqual(paused.paused, true)
      yield* Effect.promise(() => sdk.deleteRelayer(created))
      assert.strictEqual(yield* refusal((one) => one.getRelayer(created)), 404)
    })
  )

  it.effect("is refused signatures of messages and of typed data, and transactions by nonce", () =>
    Effect.gen(function* () {
      const { refusal } = yield* make
      const statuses = [
        yield* refusal((sdk, id) => sdk.sign(id, { message: "hello" })),
        yield* refusal((sdk, id) =>
          sdk.signTypedData(id, { domain_separator: "5c".repeat(32), hash_struct_message: "6d".repeat(32) })
        ),
        yield* refusal((sdk, id) => sdk.getTransactionByNonce(id, 0))
      ]
      assert.deepStrictEqual(statuses, [400, 400, 501])
    })
  )
})
