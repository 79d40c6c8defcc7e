// A node that does not know the commitment `confirmed` is asked at `finalized`, and no other refusal changes what it is asked.
import { Effect, Result } from "effect"
import { assert, describe, it } from "@effect/vitest"
import * as Calls from "../../../../src/networks/solana/chain/SolanaCalls.ts"
import { adapting } from "../../../../src/networks/solana/chain/SolanaCalls.ts"
import type { RpcAnswer } from "../../../../src/server/chains/RpcBatch.ts"
import { nodeWith } from "../../../../testkit/RpcNodes.ts"

const url = "http://node.example"
const refusal: RpcAnswer = { _tag: "RpcError", code: -32_602, message: "Invalid params" }
const height: RpcAnswer = { _tag: "Result", value: 7 }

const commitmentOf = (params: unknown): string => /"commitment":"(\w+)"/u.exec(JSON.stringify(params))?.[1] ?? "none"

const make = (answer: (commitment: string) => RpcAnswer) => {
  const asked = new Array<string>()
  const without = new Set<string>()
  const node = nodeWith(url, ({ params }) => {
    const commitment = commitmentOf(params)
    asked.push(commitment)
    return Effect.succeed(answer(commitment))
  })
  return { adapted: adapting(node, without), asked, without }
}

const call = Calls.blockHeight(Calls.readCommitment)

describe("a read", () => {
  it.effect("is repeated at `finalized` once, and asked there from then on", () =>
    Effect.gen(function* () {
      const { adapted, asked } = make((commitment) => (commitment === "confirmed" ? refusal : height))
      assert.deepStrictEqual([yield* adapted.call(call), yield* adapted.call(call)], [7, 7])
      yield* adapted.ask(call)
      assert.deepStrictEqual(asked, ["confirmed", "finalized", "finalized", "finalized"])
    })
  )

  it.effect("that a node refuses at `finalized` as well stays one of `confirmed`", () =>
    Effect.gen(function* () {
      const { adapted, without } = make(() => refusal)
      const failed = yield* Effect.result(adapted.call(call))
      assert.isTrue(Result.isFailure(failed) && failed.failure.rpcCode === -32_602)
      assert.strictEqual(without.size, 0)
    })
  )

  it.effect("of another commitment, or that fails otherwise, is not repeated", () =>
    Effect.gen(function* () {
      const refusing = make(() => refusal)
      yield* Effect.result(refusing.adapted.call(Calls.blockHeight("processed")))
      assert.deepStrictEqual(refusing.asked, ["processed"])
      const behind = make(() => ({
        _tag: "RpcError",
        code: -32_016,
        message: "Minimum context slot has not been reached"
      }))
      yield* Effect.result(behind.adapted.call(call))
      assert.deepStrictEqual(behind.asked, ["confirmed"])
    })
  )
})
