// Top-ups of stellar relayers by the jobs of the service. Ledgers close by the clock of the machine.
import { Effect, Layer, Logger } from "effect"
import { assert, layer } from "@effect/vitest"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { ledgerTables } from "../../../../src/server/ledger/Claims.ts"
import * as Prepared from "../../../../testkit/Prepared.ts"
import * as TestApi from "../../../../testkit/TestApi.ts"
import { until } from "../../../../testkit/process/Folder.ts"
import { relayerAt, xlm } from "../../../../testkit/stellar/Relayers.ts"

const api = Layer.provideMerge(ledgerTables(), TestApi.layer({ jobs: true, healthCheckInterval: "500 millis" })).pipe(
  Layer.provideMerge(Logger.layer([]))
)

/** A relayer without an account that the other one tops up. */
const hotOf = Effect.fnUntraced(function* (treasury: string) {
  const id = randomUUID()
  yield* Prepared.create("signers", { id, type: "plain" })
  const made = yield* Prepared.create("relayers", {
    id,
    name: "hot",
    network: treasury,
    network_type: "stellar",
    paused: false,
    signer_id: id,
    policies: {
      top_up: { from: treasury, below: String(2n * xlm), to: String(5n * xlm), max_per_day: String(50n * xlm) }
    }
  })
  return made as { readonly id: string; readonly address: string }
})

const codeOf = (id: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      sql<{ code: string | null }>`
        SELECT t.code FROM relayer_top_ups t JOIN relayers r ON r.seq = t.relayer_number WHERE r.id = ${id}`,
      ([row]) => row?.code
    )
  ).pipe(Effect.orDie)

layer(api, { excludeTestServices: true, concurrent: true })("a stellar relayer", (it) => {
  it.effect("that does not exist is created with its reserves, and is paid when it has spent", () =>
    Effect.gen(function* () {
      const treasury = yield* relayerAt({ policies: { allowed_operations: ["createAccount"] } })
      const { account, network } = treasury
      const { address } = yield* hotOf(treasury.id)
      const has = (balance: bigint) =>
        until(
          `balance ${balance}`,
          Effect.sync(() => (account(address)?.balance === balance ? true : undefined)),
          "60 seconds"
        )
      yield* has(6n * xlm)
      network.grant(address, -5n * xlm)
      yield* has(6n * xlm)
      const sql = yield* SqlClient.SqlClient
      const payments = yield* sql<{ kind: string; amount: string }>`
        SELECT t.kind, t.amount::text AS amount FROM top_ups t JOIN relayers r ON r.seq = t.from_number
        WHERE r.id = ${treasury.id} ORDER BY t.sequence`
      assert.deepStrictEqual(payments, [
        { kind: "create", amount: String(6n * xlm) },
        { kind: "transfer", amount: String(5n * xlm) }
      ])
    })
  )

  it.effect("is not created by a payer whose policy does not allow `createAccount`", () =>
    Effect.gen(function* () {
      const treasury = yield* relayerAt()
      const { id } = yield* hotOf(treasury.id)
      yield* until(
        "refused",
        Effect.map(codeOf(id), (code) => (code === "payer_refuses" ? true : undefined)),
        "40 seconds"
      )
      assert.deepStrictEqual((yield* (yield* TestApi.TestApi).call(treasury.path)).json.data, [])
    })
  )

  it.effect("that somebody else has created meanwhile is paid by the next check", () =>
    Effect.gen(function* () {
      // No ledger is closed, so that nothing is applied before the account exists.
      const policies = { allowed_operations: ["createAccount"] }
      const treasury = yield* relayerAt({ policies, providers: 2, ledgerMs: 0 })
      const { account, network } = treasury
      const { address, id } = yield* hotOf(treasury.id)
      const sql = yield* SqlClient.SqlClient
      const rows = sql<{ kind: string; outcome: string | null }>`
        SELECT t.kind, t.outcome FROM top_ups t JOIN relayers r ON r.seq = t.relayer_number
        WHERE r.id = ${id} ORDER BY t.sequence`.pipe(Effect.orDie)
      const tick = Effect.sync(() => network.close())
      yield* until(
        "a payment",
        Effect.flatMap(Effect.andThen(tick, rows), ([row]) => Effect.succeed(row))
      )
      network.grant(address, xlm)
      yield* until(
        "paid",
        Effect.flatMap(tick, () =>
          Effect.sync(() => ((account(address)?.balance ?? 0n) >= 6n * xlm ? true : undefined))
        ),
        "90 seconds"
      )
      const [creation, payment] = yield* rows
      assert.strictEqual(creation?.kind, "create")
      assert.notStrictEqual(creation?.outcome, "paid")
      assert.strictEqual(payment?.kind, "transfer")
    })
  )
})
