// The hourly look at what an account delegates to, asked of providers of which one may be stuck at an old block.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { keccak256 } from "viem"
import { watchDelegation } from "../../../../src/networks/evm/chain/EvmDelegates.ts"
import { codeOf } from "../../../../src/networks/evm/rules/Authorizations.ts"
import type { Lane, Watched } from "../../../../src/networks/core/Transaction.ts"
import type { RpcAnswer } from "../../../../src/server/chains/RpcBatch.ts"
import * as Chain from "../../../server/lanes/fake/Chain.ts"
import * as Node from "../../../server/lanes/fake/Node.ts"
import * as World from "../../../server/lanes/fake/World.ts"

const delegate = `0x${"de".repeat(20)}`
const [old, upgraded] = ["0x6000", "0x6001"] as const
const nonce = 5
const change = `the code of ${delegate}`

const found: Watched = { sequence: BigInt(nonce), at: 0, changed: change, since: 0 }

const laneWith = (watched?: Watched): Lane => ({
  generation: 0,
  windowSize: 1,
  accounts: [
    {
      address: World.address,
      nextSequence: 7n,
      chainSequence: 7n,
      settledSequence: 7n,
      counters: { delegation: { delegate, codeHash: keccak256(old), takesSignatures: true, nonce, generation: 0 } },
      ...(watched === undefined ? {} : { watched })
    }
  ]
})

/** What a provider shows: the executor of the delegation, and how many nonces the account has used. */
interface Shown {
  readonly executor: string
  readonly count: number
}

const unchanged: Shown = { executor: old, count: 7 }
const changed: Shown = { executor: upgraded, count: 7 }
/** Stuck before the second nonce of the delegation. */
const late: Shown = { executor: old, count: 6 }

const nodeWith = (chain: Chain.Chain, url: string, { executor, count }: Shown) => {
  const node = Node.make(chain, url)
  const result = (value: string): RpcAnswer => ({ _tag: "Result", value })
  node.lies.set("eth_getCode", ([address]) => result(address === delegate ? executor : codeOf({ address: delegate })))
  node.lies.set("eth_getTransactionCount", () => result(`0x${count.toString(16)}`))
  node.lies.set("eth_getStorageAt", () => result(`0x${"0".repeat(64)}`))
  return node
}

/** The change that the look finds. `unknown`: it finds nothing out. */
const look = Effect.fnUntraced(function* (watched: Watched | undefined, ...shown: ReadonlyArray<Shown>) {
  const chain = Chain.make()
  const nodes = shown.map((one, index) => nodeWith(chain, `http://node${index}.example`, one))
  const providers = yield* World.providersInOrder(nodes)
  const seen = yield* watchDelegation(providers, laneWith(watched))
  return seen === undefined ? "unknown" : (seen.changed ?? "unchanged")
})

describe("a look at a delegation", () => {
  it.effect("believes one provider that nothing has changed, and two that something has", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* look(undefined, unchanged, changed), "unchanged")
      assert.strictEqual(yield* look(undefined, changed, changed), change)
      assert.strictEqual(yield* look(undefined, changed, unchanged, changed), change)
      assert.strictEqual(yield* look(undefined, changed, unchanged), "unknown")
      assert.strictEqual(yield* look(undefined, changed), change)
    })
  )

  it.effect("finds a change in spite of a provider that is stuck before the delegation, which says nothing", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* look(undefined, late, changed), change)
      assert.strictEqual(yield* look(undefined, changed, late), change)
      assert.strictEqual(yield* look(undefined, changed, late, unchanged), "unknown")
      assert.strictEqual(yield* look(undefined, late, unchanged), "unchanged")
      assert.strictEqual(yield* look(undefined, late, late), "unknown")
    })
  )

  it.effect("takes a change back only if two providers show none: one that is stuck before it is not enough", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* look(found, unchanged, changed, changed), "unknown")
      assert.strictEqual(yield* look(found, changed, unchanged), "unknown")
      assert.strictEqual(yield* look(found, changed, unchanged, changed), change)
      assert.strictEqual(yield* look(found, unchanged, late), "unknown")
      assert.strictEqual(yield* look(found, changed, late), change)
      assert.strictEqual(yield* look(found, unchanged, unchanged), "unchanged")
      assert.strictEqual(yield* look(found, late, unchanged, unchanged), "unchanged")
      assert.strictEqual(yield* look(found, unchanged), "unchanged")
    })
  )

  it.effect("starts anew with the next delegation: what was found of another one counts for nothing", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* look({ ...found, sequence: 2n }, unchanged, changed), "unchanged")
    })
  )
})
