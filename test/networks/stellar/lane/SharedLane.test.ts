// Two relayers of one stellar account, one of which has RPC URLs of its own: what these say, or do not say, holds its own rows alone.
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { assert } from "@effect/vitest"
import { layerEach } from "../../../../testkit/layerEach.ts"
import { memory } from "../../../server/ledger/Fixtures.ts"
import * as World from "./World.ts"

const { receiver, xlm } = World

type Made = Effect.Success<ReturnType<typeof World.make>>

/** What the provider of one relayer does wrong from the start, the code of its rows, and how it is mended. */
interface Trouble {
  readonly begin: (world: Made, index: number) => void
  readonly code: string
  readonly end: (world: Made, index: number) => void
}

const mend = ({ nodes }: Made, index: number) => {
  const faults = nodes[index]?.faults ?? assert.fail("no node")
  faults.standsAt = undefined
  faults.closeTimeOffset = 0
  faults.replaced = {}
}

const troubles: Readonly<Record<string, Trouble>> = {
  "say nothing": {
    begin: ({ away }, index) => void away.add(index),
    code: "providers_unavailable",
    end: ({ away }, index) => void away.delete(index)
  },
  "stand at an old ledger": {
    begin: ({ network, nodes }, index) => {
      const node = nodes[index] ?? assert.fail("no node")
      node.faults.standsAt = network.latest.number
    },
    code: "ledger_stalled",
    end: mend
  },
  "show close times of an hour ago": {
    begin: ({ nodes }, index) => {
      const node = nodes[index] ?? assert.fail("no node")
      node.faults.closeTimeOffset = 3600
    },
    code: "clock_skew",
    end: mend
  },
  "show no account": {
    begin: ({ nodes, network }, index) => {
      const node = nodes[index] ?? assert.fail("no node")
      node.faults.replaced = {
        get getLedgerEntries() {
          return { entries: [], latestLedger: network.latest.number }
        }
      }
    },
    code: "no_account",
    end: mend
  }
}

const codeOf = ({ cause, state }: { readonly cause?: { readonly code: string }; readonly state: string }) => [
  state,
  cause?.code
]

/** One index of the providers is that of the network, and the other one that of the relayer with URLs of its own. */
const sets = { "the network": 0, "one relayer": 1 }

layerEach(memory)("stellar providers of", (it) => {
  for (const [whose, index] of Object.entries(sets)) {
    for (const [name, { begin, code, end }] of Object.entries(troubles)) {
      it.effect(`${whose} that ${name} hold the rows that use them, and not those of a relayer with other URLs`, () =>
        Effect.gen(function* () {
          const world = yield* World.make({ own: 1 })
          begin(world, index)
          yield* TestClock.adjust("2 minutes")
          world.network.close()
          const ofNetwork = { accept: world.accept, read: world.transaction }
          const ofOwn = { accept: world.acceptOwn, read: world.ownTransaction }
          const [held, free] = index === 0 ? [ofNetwork, ofOwn] : [ofOwn, ofNetwork]
          const [first] = yield* held.accept()
          yield* world.poll(20)
          const [second] = yield* free.accept(World.payment(2n * xlm))
          yield* world.poll(20)
          assert.deepStrictEqual(codeOf(yield* held.read(first)), ["pending", code])
          assert.deepStrictEqual(codeOf(yield* free.read(second)), ["confirmed", "confirmed"])
          end(world, index)
          yield* world.finish
          assert.deepStrictEqual(codeOf(yield* held.read(first)), ["confirmed", "confirmed"])
          assert.strictEqual(world.balanceOf(receiver.publicKey()), 13n * xlm)
        })
      )
    }
  }
})
