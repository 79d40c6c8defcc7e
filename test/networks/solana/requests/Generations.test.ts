// A test network of solana that was restarted: its operator says so, and what has no bytes is sent on the new cluster.
// The cluster makes blocks by the clock of the machine.
import { Effect } from "effect"
import { assert, layer } from "@effect/vitest"
import * as Documented from "../../../../testkit/Documented.ts"
import * as Cluster from "../../../../testkit/solana/Cluster.ts"
import * as Serving from "../../../../testkit/solana/Serving.ts"
import { memo, sol } from "../lane/World.ts"
import { api, dataOf, relayerAt } from "./Relayers.ts"

layer(api, { excludeTestServices: true })("a restarted test network of solana", (it) => {
  it.effect("gets what has no bytes, after the operator has begun a generation", () =>
    Effect.gen(function* () {
      const { address, becomes, call, cluster, id, post, relayer, send, waits } = yield* relayerAt()
      const first = dataOf(yield* send(memo("old")))
      yield* becomes(first.id, "confirmed")

      const restarted = Cluster.make({ genesis: "another" })
      assert.notStrictEqual(restarted.genesis, cluster.genesis)
      restarted.fund(address, 10n * sol)
      restarted.produce(40)
      yield* Serving.run(restarted, 50)
      const { url } = yield* Serving.node(restarted)
      yield* call(`/api/v1/networks/solana:${id}`, { method: "PATCH", body: { rpc_urls: [url] } })
      const { id: waiting } = dataOf(yield* send(memo("new")))
      yield* waits(waiting, "chain_changed")

      assert.strictEqual((yield* call(`${relayer}/nonce`)).status, 501)
      const cleared = yield* post("/nonce/clear", { from: 0, to: 1 })
      assert.strictEqual(cleared.status, 409)
      assert.include(cleared.json.error ?? "", "no nonce")
      const begun = yield* call(`${relayer}/nonce/generation`, { method: "POST" })
      assert.strictEqual(begun.status, 200, begun.text)
      assert.deepStrictEqual(Documented.faultsOf("post /api/v1/relayers/{relayer_id}/nonce/generation", begun), [])
      assert.deepInclude(begun.json.data, { address, generation: 1, pending: 1, in_flight: 0 })
      yield* becomes(waiting, "confirmed")
      assert.strictEqual(restarted.successes(address), 1)
    })
  )
})
