// What a lane makes of signatures that callers got: it keeps funds for them, and does not take them for foreign transactions.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { ledger } from "../ledger/Fixtures.ts"
import * as Scenes from "./fake/Scenes.ts"
import * as World from "./fake/World.ts"

/** The database compares with its own clock. */
const future = Date.UTC(2100, 0)

layerEach(ledger)("a signature that a caller got", (it) => {
  it.effect("keeps the fees that it can cost from other transactions until it can no longer land", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const sql = yield* SqlClient.SqlClient
      const fee = 10n ** 30n
      yield* (yield* Ledger).give(world.account, {
        hash: "0x01",
        raw: new Uint8Array([1]),
        fee,
        end: { validUntil: future }
      })
      const [id] = yield* world.accept()
      yield* world.poll(2)
      const { cause } = yield* world.transaction(id)
      assert.deepStrictEqual([cause?.code, cause?.figures.reserved], ["insufficient_funds", fee])
      yield* sql`UPDATE signatures_given SET valid_until = now()`
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
    })
  )

  it.effect("is no foreign transaction: no request waits because it could be that one", () =>
    Effect.gen(function* () {
      const { world } = yield* Scenes.confirmed({ providers: 2 })
      const sent = yield* world.foreign(1, 1n)
      yield* (yield* Ledger).give(world.account, {
        hash: sent.hash,
        raw: new Uint8Array([1]),
        fee: 1n,
        end: { validUntil: future }
      })
      const [id] = yield* world.accept()
      world.chain.include([{ bytes: sent, isSuccess: true }])
      yield* Scenes.finish(world)
      const { state, restored, nonce } = yield* world.transaction(id)
      assert.deepStrictEqual([state, restored, nonce], ["confirmed", false, 2])
    })
  )
})
