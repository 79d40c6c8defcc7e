// The contender: a script that builds, signs and posts each transaction once, with 64 requests open, and polls statuses in batches.
// It has no ledger and proves nothing, so no service is faster.
import { Clock, Effect, Schema } from "effect"
import { base64Of } from "../../../src/networks/solana/rules/SolanaExchanges.ts"
import { maxStatuses, rebroadcastAfter, sharedFor } from "../../../src/networks/solana/rules/SolanaNumbers.ts"
import * as Wire from "../../../src/networks/solana/rules/Wire.ts"
import { encodeBase58 } from "../../../src/networks/solana/rules/Wire.ts"
import { life } from "../../../testkit/solana/Cluster.ts"
import * as Keys from "../../../testkit/signers/Keys.ts"
import * as Machine from "../../harness/Machine.ts"
import { median } from "../../harness/Statistics.ts"
import * as Http from "../Http.ts"
import { finality } from "./Control.ts"
import * as Memos from "./Memos.ts"
import type { SolanaWorld } from "./World.ts"

const connections = 64

/** Lamports of its account. */
const lamports = 1_000_000_000_000

/** Questions that measure how long a node takes for an answer while it has nothing else to do. */
const questions = 20

const Blockhash = Schema.Struct({ value: Schema.Struct({ blockhash: Schema.String }) })
const Statuses = Schema.Struct({
  value: Schema.Array(Schema.NullOr(Schema.Struct({ slot: Schema.Int, confirmationStatus: Schema.String })))
})

const answerOf = <A>(result: Schema.Decoder<A>) => Schema.fromJsonString(Schema.Struct({ result }))

const asker =
  (client: Http.Http) =>
  <A>(result: Schema.Decoder<A>, method: string, ...params: ReadonlyArray<unknown>) =>
    Effect.map(
      Effect.flatMap(
        client.post("/", JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })),
        Schema.decodeEffect(answerOf(result))
      ),
      (answer) => answer.result
    )

interface Sent {
  readonly signature: string
  readonly raw: string
  /** Its first send: its blockhash lives from then, or from a little earlier. */
  readonly at: number
}

const confirmed = { commitment: "confirmed" } as const

const open = Effect.fnUntraced(function* ({ control: { fund, urls } }: SolanaWorld) {
  const key = Keys.make("ed25519")
  const address = encodeBase58(key.publicKey)
  yield* fund({ addresses: [address], lamports })
  const client = yield* Http.make(urls[0] ?? "", connections)
  const ask = asker(client)
  const newest = Effect.map(ask(Blockhash, "getLatestBlockhash", confirmed), ({ value }) => value.blockhash)
  let shared = { blockhash: yield* newest, at: yield* Clock.currentTimeMillis }

  /** As old as the service lets a blockhash become. */
  const blockhash = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (now >= shared.at + sharedFor.blockhash) {
      shared = { ...shared, at: now }
      shared = { blockhash: yield* newest, at: now }
    }
    return shared.blockhash
  })

  const post = (raw: string) =>
    ask(Schema.String, "sendTransaction", raw, { encoding: "base64", skipPreflight: true, maxRetries: 0 })

  const sendOne = Effect.gen(function* () {
    const message = Memos.nextMessage(address, yield* blockhash)
    const signed = key.sign(message)
    const raw = base64Of(Wire.transactionBytes([signed], message))
    const at = Machine.now()
    yield* post(raw)
    const sent: Sent = { signature: encodeBase58(signed), raw, at }
    return sent
  })

  /** By signature, of those that a block has. */
  const statuses = Effect.fnUntraced(function* (all: ReadonlyArray<Sent>) {
    const found = new Map<string, { readonly slot: number; readonly isFinal: boolean }>()
    for (let from = 0; from < all.length; from += maxStatuses) {
      const part = all.slice(from, from + maxStatuses)
      const { value } = yield* ask(
        Statuses,
        "getSignatureStatuses",
        part.map(({ signature }) => signature)
      )
      for (const [index, status] of value.entries()) {
        const signature = part[index]?.signature
        if (status === null || signature === undefined) continue
        found.set(signature, { slot: status.slot, isFinal: status.confirmationStatus === "finalized" })
      }
    }
    return found
  })

  return { newest, post, sendOne, statuses }
})

/** Milliseconds that a node takes for an answer. */
const answerTime = Effect.fnUntraced(function* <A, E>(question: Effect.Effect<A, E>) {
  const times = yield* Effect.forEach(Array.from({ length: questions }), () =>
    Effect.gen(function* () {
      const at = Machine.now()
      yield* question
      return Machine.now() - at
    })
  )
  return median(times)
})

const sendAll = <E>(sendOne: Effect.Effect<Sent, E>, count: number) =>
  Effect.forEach(Array.from({ length: count }), () => sendOne, { concurrency: connections })

/** The moments at which the block of the last transaction came, and at which it was finalized. */
export const run = Effect.fnUntraced(function* (world: SolanaWorld, count: number) {
  const { heads, blockTime } = world
  const { newest, sendOne, statuses } = yield* open(world)
  const toBroadcast = yield* answerTime(newest)
  const start = Machine.now()
  const sent = yield* sendAll(sendOne, count)
  const accepted = Machine.now()
  const found = yield* statuses(sent).pipe(
    Effect.tap(() => Effect.sleep(blockTime * 1000)),
    Effect.repeat({ until: (all) => all.size === count && [...all.values()].every(({ isFinal }) => isFinal) })
  )
  const last = Math.max(...[...found.values()].map(({ slot }) => slot))
  const [landed, final] = [heads.arrivalOf(last), heads.confirmationOf(last, finality)]
  return {
    acceptedPerSecond: (count * 1000) / (accepted - start),
    onChainPerSecond: (count * 1000) / ((landed ?? Number.NaN) - start),
    perSecond: (count * 1000) / ((final ?? Number.NaN) - start),
    /** One answer of a node that has nothing else to do. */
    toBroadcast
  }
}, Effect.scoped)

/** The share of transactions that land before their blockhash dies, if each is posted again until it is seen. */
export const repeating = Effect.fnUntraced(function* (world: SolanaWorld, count: number) {
  const { post, sendOne, statuses } = yield* open(world)
  const all = yield* sendAll(sendOne, count)
  const isAlive = ({ at }: Sent) => Machine.now() - at < life * world.blockTime * 1000
  let found = yield* statuses(all)
  while (all.some((one) => !found.has(one.signature) && isAlive(one))) {
    yield* Effect.sleep(rebroadcastAfter)
    found = yield* statuses(all)
    const missing = all.filter(({ signature }) => !found.has(signature))
    yield* Effect.forEach(missing.filter(isAlive), ({ raw }) => post(raw), { concurrency: connections })
  }
  return { landed: found.size / count }
}, Effect.scoped)
