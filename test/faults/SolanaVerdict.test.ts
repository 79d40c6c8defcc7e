// The check of the fault cases of solana that new bytes are not signed while the old ones can land.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { refreshesOf, signedTooEarly } from "../../faults/solana/Verdict.ts"
import { settled } from "../../faults/sending/Verdict.ts"
import * as Cluster from "../../testkit/solana/Cluster.ts"

const { blocks } = (() => {
  const cluster = Cluster.make()
  cluster.produce(400)
  return cluster
})()

const attempt = (height: number) => ({ kind: "refresh", blockhash: blocks[height]?.blockhash ?? "" })

describe("new bytes of solana", () => {
  it("are too early if their blockhash existed while the old bytes could land", () => {
    const early = { attempts: [attempt(10), attempt(10 + Cluster.life + 1)] }
    const later = { attempts: [attempt(10), attempt(10 + Cluster.life + 2)] }
    assert.deepStrictEqual(signedTooEarly(blocks, [early, later]), [early])
  })

  it("are compared with the bytes directly before them, also after several refreshes", () => {
    const early = { attempts: [attempt(0), attempt(200), attempt(210)] }
    assert.deepStrictEqual(signedTooEarly(blocks, [early]), [early])
  })

  it("say nothing if a fork dropped the block of a blockhash", () => {
    const dropped = { kind: "original", blockhash: "dropped" }
    assert.deepStrictEqual(signedTooEarly(blocks, [{ attempts: [dropped, attempt(1)] }, {}]), [])
  })

  it("are counted", () => {
    assert.strictEqual(refreshesOf([{}, { attempts: [attempt(1)] }, { attempts: [attempt(1), attempt(2)] }]), 1)
  })
})

describe("the end of a load that does not come", () => {
  it.effect("is explained by the codes, and by nonces where there are any", () =>
    Effect.gen(function* () {
      const open = ["solana", "evm"].map((network_type) => ({
        id: network_type,
        relayer_id: network_type,
        network_type,
        status: "submitted",
        code: `code of ${network_type}`
      }))
      const service = {
        call: (path: string) =>
          Effect.succeed({
            status: 200,
            text: path.endsWith("/nonce") ? `answer to ${path}` : JSON.stringify({ data: open })
          })
      }
      const waiting = yield* Effect.forkChild(Effect.sandbox(settled(service, "1 second")))
      yield* TestClock.adjust("2 seconds")
      const text = String(yield* Effect.flip(Fiber.join(waiting)))
      for (const { code } of open) assert.include(text, code)
      assert.include(text, "answer to /api/v1/relayers/evm/nonce")
      assert.notInclude(text, "relayers/solana/nonce")
    })
  )
})
