// Which providers a lane keeps when it learns the first block of its chain.
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { rememberedProviders } from "../../../src/server/lanes/LaneNetwork.ts"
import type { ProviderMemory } from "../../../src/server/lanes/LaneNetwork.ts"

/** Providers that find the first block themselves. */
const finding = (genesis: string | undefined) => ({ genesis: Effect.succeed(genesis) })

const newMemory = (): ProviderMemory<ReturnType<typeof finding>> => ({
  genesis: undefined,
  providers: new Map()
})

it.effect("the providers that have found the first block stay when the lane has stored it", () =>
  Effect.gen(function* () {
    const memory = newMemory()
    const first = yield* rememberedProviders(memory, "urls", Effect.succeed(finding("one")))
    memory.genesis = "one"
    for (let poll = 0; poll < 2; poll++) {
      assert.strictEqual(yield* rememberedProviders(memory, "urls", Effect.die("made again")), first)
    }
  })
)

it.effect("providers that have found another first block, or none, are made anew", () =>
  Effect.gen(function* () {
    for (const found of ["other", undefined]) {
      const memory = newMemory()
      yield* rememberedProviders(memory, "urls", Effect.succeed(finding(found)))
      memory.genesis = "one"
      const next = finding("one")
      assert.strictEqual(yield* rememberedProviders(memory, "urls", Effect.succeed(next)), next)
    }
  })
)
