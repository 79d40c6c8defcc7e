// When a process loads the modules that its first signature needs.
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { recoverTransactionAddress } from "viem"
import { warmUpSigner } from "../../../src/networks/evm/lane/EvmContext.ts"

it.effect("the warm-up signs a whole transaction", () =>
  Effect.gen(function* () {
    const { raw } = yield* warmUpSigner
    const serializedTransaction = `0x02${Buffer.from(raw.subarray(1)).toString("hex")}` as const
    const signer = yield* Effect.promise(() => recoverTransactionAddress({ serializedTransaction }))
    assert.strictEqual(signer.toLowerCase(), "0x7e5f4552091a69125d5dfcb7b8c2659029395bdf")
  })
)
