// The process of the chain, what the benchmark asks it, and when its blocks came.
import { Effect, Schema } from "effect"
import * as path from "node:path"
import * as Cluster from "../../../testkit/solana/Cluster.ts"
import * as Child from "../../harness/Child.ts"
import * as Folder from "../../harness/Folder.ts"
import * as Heads from "../Heads.ts"
import * as Http from "../Http.ts"

/** When the block of a slot was made. */
const BlockTime = Schema.Struct({ slot: Schema.Int, at: Schema.Finite })
export type BlockTime = typeof BlockTime.Type

export interface Funding {
  readonly addresses: ReadonlyArray<string>
  readonly lamports: number
}

/** `percent`: of all sends, which nodes drop. */
export interface Swallowing {
  readonly percent: number
}

const Urls = Schema.fromJsonString(Schema.Struct({ urls: Schema.Array(Schema.String) }))
const BlockTimes = Schema.fromJsonString(Schema.Array(BlockTime))

const main = path.join(import.meta.dirname, "chain.ts")

/** The name of the file of its output. */
const log = "chain.log"

/** Milliseconds between two questions for new blocks. */
const asksEach = 20

/**
 * A block confirms a transaction when the blocks on top of it make it finalized. Slots may be without a block, so these are
 * counted by height.
 */
const follow = Effect.fnUntraced(function* (client: Http.Http) {
  const blocks: Array<BlockTime> = []
  const heights = new Map<number, number>()
  const arrivals = new Map<number, number>()
  const ask = Effect.gen(function* () {
    const text = yield* client.get(`/blocks?from=${blocks.length}`)
    for (const block of yield* Schema.decodeEffect(BlockTimes)(text)) {
      heights.set(block.slot, blocks.length)
      arrivals.set(block.slot, block.at)
      blocks.push(block)
    }
  })
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.orDie(ask), Effect.sleep(asksEach))))
  return Heads.make(arrivals, (slot, required) => blocks[(heights.get(slot) ?? Number.NaN) + required]?.at)
})

/** Blocks from that of a transaction to the one that makes it finalized. */
export const finality = Cluster.finality

/** Starts the chain. It ends with the scope. */
export const start = Effect.fnUntraced(function* (blockMillis: number) {
  const folder = yield* Folder.temporary
  const { url } = yield* Child.start(
    {
      name: "chain",
      args: [main, "--block-ms", String(blockMillis)],
      env: {},
      log: path.join(folder, log)
    },
    "/",
    ""
  )
  const client = yield* Http.make(url, 1)
  const { urls } = yield* Schema.decodeEffect(Urls)(yield* client.get("/"))
  const heads = yield* follow(yield* Http.make(url, 1))
  const post = (path: string, body: object) => Effect.asVoid(client.post(path, JSON.stringify(body)))
  return {
    urls,
    heads,
    fund: (funding: Funding) => post("/fund", funding),
    swallow: (swallowing: Swallowing) => post("/swallow", swallowing),
    /** Waits until the arrivals of the blocks that have them are known. */
    effects: Effect.map(Effect.delay(Effect.orDie(client.get("/effects")), 5 * asksEach), Number)
  }
})

export type Control = Effect.Success<ReturnType<typeof start>>
