// When a process loads the modules that its first signature needs.
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { recoverTransactionAddress } from "viem"
import * as WarmUp from "../../../src/server/lanes/WarmUp.ts"

it.effect("the warm-up signs a whole transaction", () =>
  Effect.gen(function* () {
    const { raw } = yield* WarmUp.sign
    const serializedTransaction = `0x02${Buffer.from(raw.subarray(1)).toString("hex")}` as const
    const signer = yield* Effect.promise(() => recoverTransactionAddress({ serializedTransaction }))
    assert.strictEqual(signer.toLowerCase(), "0x7e5f4552091a69125d5dfcb7b8c2659029395bdf")
  })
)

it.effect(
  "the warm-up asks two seconds after the start whether there are lanes, and disturbs nothing if that fails",
  () =>
    Effect.gen(function* () {
      let asked = 0
      const hasLanes = Effect.suspend(() =>
        ++asked === 1 ? Effect.succeed(false) : Effect.die(new Error("no database"))
      )
      yield* Effect.forkChild(WarmUp.ifUsed({ hasLanes }))
      yield* TestClock.adjust("1999 millis")
      assert.strictEqual(asked, 0)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(asked, 1)
      yield* Effect.andThen(Effect.forkChild(TestClock.adjust("2 seconds")), WarmUp.ifUsed({ hasLanes }))
      assert.strictEqual(asked, 2)
    })
)
