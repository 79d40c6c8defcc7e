// The accounts of the service are read once for all requests of a moment.
import { assert, layer } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import * as OwnAccounts from "../../../../src/server/lanes/stellar/OwnAccounts.ts"
import { LaneLedger } from "../../../../src/server/ledger/LaneLedger.ts"
import { RelayerTargets } from "../../../../src/server/relayers/RelayerTargets.ts"
import * as TestDatabase from "../../../../testkit/TestDatabase.ts"

layer(TestDatabase.layer)("accounts of the service", (it) => {
  it.effect("are read once for concurrent requests, and again for a later one", () =>
    Effect.gen(function* () {
      const relayers = ["GRELAYER"]
      let reads = 0
      const targets = Layer.mock(RelayerTargets, {
        addresses: () =>
          Effect.sync(() => {
            reads++
            return [...relayers]
          })
      })
      const ledger = Layer.mock(LaneLedger, {
        lease: Duration.minutes(1),
        addresses: () => Effect.succeed(["GCHANNEL"])
      })
      const own = yield* OwnAccounts.make.pipe(Effect.provide(Layer.merge(targets, ledger)))
      const found = yield* Effect.all(
        Array.from({ length: 64 }, () => own),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(reads, 1)
      for (const one of found) assert.deepStrictEqual([...one], ["GRELAYER", "GCHANNEL"])
      relayers.push("GNEW")
      assert.isTrue((yield* own).has("GNEW"))
      assert.strictEqual(reads, 2)
    })
  )
})
