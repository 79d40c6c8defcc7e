// The contender: transactions that were signed before go to the node directly, with as many requests in flight as the node
// serves well. No service is faster than this.
import { Effect, Random } from "effect"
import { privateKeyToAccount } from "viem/accounts"
import * as Machine from "../../harness/Machine.ts"
import * as Http from "../Http.ts"
import { receiver } from "./World.ts"
import type { EvmWorld } from "./World.ts"

const inFlight = 8
const gwei = 10n ** 9n

const rpc = (method: string, params: ReadonlyArray<unknown>) =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })

const newKey = Effect.map(
  Effect.forEach(Array.from({ length: 32 }), () => Random.nextIntBetween(1, 256)),
  (bytes): `0x${string}` => `0x${Buffer.from(bytes).toString("hex")}`
)

/** `each` raw transactions of a new account with funds. */
const signAll = Effect.fnUntraced(function* ({ node }: EvmWorld, each: number) {
  const account = privateKeyToAccount(yield* newKey)
  yield* node.call("anvil_setBalance", [account.address, "0xd3c21bcecceda1000000"])
  return yield* Effect.forEach(Array.from({ length: each }), (_, nonce) =>
    Effect.promise(() =>
      account.signTransaction({
        chainId: 31_337,
        nonce,
        to: receiver,
        value: 1n,
        gas: 21_000n,
        maxFeePerGas: 100n * gwei,
        maxPriorityFeePerGas: gwei
      })
    )
  )
})

const blockOf = (text: string): number | undefined => {
  const { result } = JSON.parse(text)
  return result === null ? undefined : Number(result.blockNumber)
}

/** Transactions per second that the node accepts, and until one block is on top of the last one. */
export const run = Effect.fnUntraced(function* (world: EvmWorld, accounts: number, each: number) {
  const signed = yield* Effect.forEach(Array.from({ length: accounts }), () => signAll(world, each))
  const raw = Array.from({ length: accounts * each }, (_, n) => signed[n % accounts]?.[Math.floor(n / accounts)] ?? "")
  const client = yield* Http.make(world.node.url, inFlight)
  const start = Machine.now()
  const hashes = yield* Effect.forEach(
    raw,
    (one) => Effect.map(client.post("/", rpc("eth_sendRawTransaction", [one])), (text) => JSON.parse(text).result),
    { concurrency: inFlight }
  )
  const accepted = Machine.now()
  const blockOfLast = yield* client.post("/", rpc("eth_getTransactionReceipt", [hashes.at(-1)])).pipe(
    Effect.map(blockOf),
    Effect.tap((block) => (block === undefined ? Effect.sleep("20 millis") : Effect.void)),
    Effect.repeat({ until: (block) => block !== undefined })
  )
  const confirmed = yield* Effect.sync(() => world.heads.arrivalOf((blockOfLast ?? 0) + 1)).pipe(
    Effect.tap((arrival) => (arrival === undefined ? Effect.sleep("5 millis") : Effect.void)),
    Effect.repeat({ until: (arrival) => arrival !== undefined })
  )
  return {
    acceptedPerSecond: (raw.length * 1000) / (accepted - start),
    perSecond: (raw.length * 1000) / ((confirmed ?? accepted) - start)
  }
}, Effect.scoped)
