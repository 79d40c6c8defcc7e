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

/** Milliseconds between two blocks, of which a lane shares a blockhash for fewer than make a block final. */
const usual = 150

describe("new bytes of solana", () => {
  it("are too early if their blockhash existed while the old bytes could land", () => {
    const early = { attempts: [attempt(10), attempt(10 + Cluster.life + 1)] }
    const later = { attempts: [attempt(10), attempt(10 + Cluster.life + 2)] }
    assert.deepStrictEqual(signedTooEarly(blocks, [early, later], usual), [early])
  })

  it("are compared with the bytes directly before them, also after several refreshes", () => {
    const early = { attempts: [attempt(0), attempt(200), attempt(210)] }
    assert.deepStrictEqual(signedTooEarly(blocks, [early], usual), [early])
  })

  it("may have the blockhash that their lane shares, where blocks are so fast that it is older than the proof", () => {
    // Two seconds are 40 blocks, and a block is final after 32.
    const shared = { attempts: [attempt(10), attempt(10 + Cluster.life - 6)] }
    const early = { attempts: [attempt(10), attempt(10 + Cluster.life - 7)] }
    assert.deepStrictEqual(signedTooEarly(blocks, [shared, early], 50), [early])
  })

  it("say nothing if a fork dropped the block of a blockhash", () => {
    const dropped = { kind: "original", blockhash: "dropped" }
    assert.deepStrictEqual(signedTooEarly(blocks, [{ attempts: [dropped, attempt(1)] }, {}], usual), [])
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
