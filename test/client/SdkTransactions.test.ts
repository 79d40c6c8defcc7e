// The published SDK of another relayer service sends, reads, replaces, cancels and signs here unchanged. The chain is anvil.
// Anvil makes blocks by the clock of the machine.
import { assert } from "@effect/vitest"
import {
  Configuration,
  RelayerNetworkType,
  RelayersApi,
  SignerTypeRequest,
  SignersApi,
  Speed
} from "@openzeppelin/relayer-sdk"
import type { EvmTransactionRequest, EvmTransactionResponse } from "@openzeppelin/relayer-sdk"
import { Context, Effect, Layer, Schedule } from "effect"
import { concat, keccak256, recoverAddress, recoverMessageAddress } from "viem"
import * as Anvil from "../../testkit/Anvil.ts"
import { layerEach } from "../../testkit/layerEach.ts"
import * as TestApi from "../../testkit/TestApi.ts"

const relayerId = "sdk"
const receiver = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"

const make = Effect.gen(function* () {
  const { baseUrl, call } = yield* TestApi.TestApi
  const chain = yield* Anvil.start({ blockTime: 1 })
  const configuration = new Configuration({ basePath: baseUrl, accessToken: TestApi.apiKey })
  const network = { name: "anvil", from: "sepolia", network_type: "evm", chain_id: 31_337, required_confirmations: 1 }
  yield* call("/api/v1/networks", {
    body: { ...network, rpc_urls: [chain.url], average_blocktime_ms: 1000, is_testnet: true }
  })
  yield* Effect.promise(() =>
    new SignersApi(configuration).createSigner({
      id: "sdk-signer",
      type: SignerTypeRequest.PLAIN,
      config: { key: "02".repeat(32) }
    })
  )
  const relayers = new RelayersApi(configuration)
  const created = yield* Effect.promise(() =>
    relayers.createRelayer({
      id: relayerId,
      name: "Sends",
      network: "anvil",
      network_type: RelayerNetworkType.EVM,
      paused: false,
      signer_id: "sdk-signer"
    })
  )
  const address = created.data.data?.address ?? ""
  yield* chain.call("anvil_setBalance", [address, "0x8ac7230489e80000"])
  return { relayers, chain, address }
})

class Sdk extends Context.Service<Sdk, Effect.Success<typeof make>>()(
  "effect-relayer/test/client/SdkTransactions.test/Sdk"
) {}

/** The body of a call that succeeds. */
const answer = <A>(f: (relayers: RelayersApi) => Promise<{ readonly status: number; readonly data: A }>) =>
  Effect.flatMap(Sdk, ({ relayers }) =>
    Effect.promise(async () => {
      const { status, data } = await f(relayers)
      assert.strictEqual(status, 200)
      return data
    })
  )

/** The SDK has one type for the transactions of all networks. */
const evm = ({ data }: { readonly data?: unknown }): EvmTransactionResponse => data as EvmTransactionResponse

const send = (request: Partial<EvmTransactionRequest> = {}) =>
  Effect.map(
    answer((relayers) =>
      relayers.sendTransaction(relayerId, { to: receiver, value: 1, data: "0x", speed: Speed.FAST, ...request })
    ),
    evm
  )

const get = (id: string) =>
  Effect.map(
    answer((relayers) => relayers.getTransactionById(relayerId, id)),
    evm
  )

/** Blocks come every second. */
const until = (id: string, status: string) =>
  get(id).pipe(
    Effect.repeat({ schedule: Schedule.spaced("100 millis"), until: (transaction) => transaction.status === status }),
    Effect.timeout("60 seconds")
  )

interface Attempt {
  readonly kind: string
  readonly sent_at?: string
}

const isSentReplacement = ({ kind, sent_at }: Attempt): boolean => kind === "replace" && sent_at !== undefined

/** Waits until a node has the replacement. The SDK has no type for attempts. */
const untilReplaced = (id: string) =>
  get(id).pipe(
    Effect.repeat({
      schedule: Schedule.spaced("100 millis"),
      until: (transaction) =>
        (transaction as { readonly attempts?: ReadonlyArray<Attempt> }).attempts?.some(isSentReplacement) ?? false
    }),
    Effect.timeout("60 seconds")
  )

layerEach(Layer.provideMerge(Layer.effect(Sdk, make), TestApi.layer({ jobs: true })))(
  "the published SDK sends transactions",
  (it) => {
    it.live("sends a transaction, which is confirmed on the chain", () =>
      Effect.gen(function* () {
        const { chain, address } = yield* Sdk
        const sent = yield* send({ value: 1_000_000 })
        assert.deepInclude<object>(sent, { relayer_id: relayerId, status: "pending", value: "0xf4240", from: address })
        const { hash = "", nonce } = yield* until(sent.id, "confirmed")
        assert.strictEqual(nonce, 0)
        const receipt = (yield* chain.call("eth_getTransactionReceipt", [hash])) as { readonly status: string }
        assert.strictEqual(receipt.status, "0x1")
        const byNonce = yield* answer((relayers) => relayers.getTransactionByNonce(relayerId, 0))
        assert.strictEqual(evm(byNonce).id, sent.id)
      })
    )

    it.live("lists transactions with numbered pages, newest first", () =>
      Effect.gen(function* () {
        const first = yield* send()
        const second = yield* send()
        const page = yield* answer((relayers) => relayers.listTransactions(relayerId, 1, 1))
        assert.deepStrictEqual(page.pagination, { current_page: 1, per_page: 1, total_items: 2 })
        assert.deepStrictEqual(
          page.data?.map(({ id }) => id),
          [second.id]
        )
        const next = yield* answer((relayers) => relayers.listTransactions(relayerId, 2, 1))
        assert.deepStrictEqual(
          next.data?.map(({ id }) => id),
          [first.id]
        )
      })
    )

    it.live("replaces a transaction that is in the pool", () =>
      Effect.gen(function* () {
        const { chain } = yield* Sdk
        yield* chain.call("evm_setIntervalMining", [0])
        const sent = yield* send()
        yield* until(sent.id, "submitted")
        const replaced = yield* answer((relayers) =>
          relayers.replaceTransaction(relayerId, sent.id, { to: receiver, value: 2, data: "0x", speed: Speed.FASTEST })
        )
        assert.strictEqual(evm(replaced).id, sent.id)
        yield* untilReplaced(sent.id)
        yield* chain.call("evm_setIntervalMining", [1])
        const { hash = "", value } = yield* until(sent.id, "confirmed")
        assert.strictEqual(value, "0x2")
        const mined = (yield* chain.call("eth_getTransactionByHash", [hash])) as { readonly value: string }
        assert.strictEqual(mined.value, "0x2")
      })
    )

    it.live("cancels a transaction, and all open ones", () =>
      Effect.gen(function* () {
        const { chain } = yield* Sdk
        yield* chain.call("evm_setIntervalMining", [0])
        const one = yield* send()
        const canceled = yield* answer((relayers) => relayers.cancelTransaction(relayerId, one.id))
        assert.strictEqual(evm(canceled).id, one.id)
        const other = yield* send()
        const all = yield* answer((relayers) => relayers.deletePendingTransactions(relayerId))
        assert.include(all.data?.queued_for_cancellation_transaction_ids ?? [], other.id)
        yield* chain.call("evm_setIntervalMining", [1])
        yield* until(one.id, "canceled")
        yield* until(other.id, "canceled")
      })
    )

    it.live("signs a message and typed data with the relayer's key", () =>
      Effect.gen(function* () {
        const { address } = yield* Sdk
        const signed = yield* answer((relayers) => relayers.sign(relayerId, { message: "hello" }))
        const { sig } = signed.data as { readonly sig: string }
        const signer = yield* Effect.promise(() => recoverMessageAddress({ message: "hello", signature: `0x${sig}` }))
        assert.strictEqual(signer.toLowerCase(), address.toLowerCase())
        const domainSeparator = `0x${"11".repeat(32)}` as const
        const messageHash = `0x${"22".repeat(32)}` as const
        const typed = yield* answer((relayers) =>
          relayers.signTypedData(relayerId, { domain_separator: domainSeparator, hash_struct_message: messageHash })
        )
        const { sig: typedSig } = typed.data as { readonly sig: string }
        const hash = keccak256(concat(["0x1901", domainSeparator, messageHash]))
        const recovered = yield* Effect.promise(() => recoverAddress({ hash, signature: `0x${typedSig}` }))
        assert.strictEqual(recovered.toLowerCase(), address.toLowerCase())
      })
    )

    it.live("calls methods of the chain that read, and no others", () =>
      Effect.gen(function* () {
        const { relayers } = yield* Sdk
        const call = (method: string) =>
          Effect.promise(() =>
            relayers.rpc(relayerId, { jsonrpc: "2.0", id: 7, method, params: [] } as never)
          ) as Effect.Effect<{
            readonly data: { readonly result?: unknown; readonly error?: { readonly code: number } }
          }>
        const chainId = yield* call("eth_chainId")
        assert.deepInclude(chainId.data, { id: 7, result: "0x7a69" } as never)
        const refused = yield* call("eth_sendRawTransaction")
        assert.strictEqual(refused.data.error?.code, -32_601)
      })
    )

    it.live("shows open and confirmed transactions in the status of the relayer", () =>
      Effect.gen(function* () {
        const sent = yield* send()
        yield* until(sent.id, "confirmed")
        const status = yield* answer((relayers) => relayers.getRelayerStatus(relayerId))
        const { pending_transactions_count, last_confirmed_transaction_timestamp } = status.data as {
          readonly pending_transactions_count: number
          readonly last_confirmed_transaction_timestamp?: string
        }
        assert.strictEqual(pending_transactions_count, 0)
        assert.isString(last_confirmed_transaction_timestamp)
      })
    )
  }
)
