// Top-ups of solana relayers by the jobs of the service, on a cluster that makes blocks by the clock of the machine.
import { Effect, Layer, Logger } from "effect"
import { assert, layer } from "@effect/vitest"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { ledgerTables } from "../../../../src/server/ledger/Claims.ts"
import * as Prepared from "../../../../testkit/Prepared.ts"
import * as TestApi from "../../../../testkit/TestApi.ts"
import { until } from "../../../../testkit/process/Folder.ts"
import { sol } from "../lane/World.ts"
import { relayerAt } from "./Relayers.ts"

const api = Layer.provideMerge(ledgerTables(), TestApi.layer({ jobs: true, healthCheckInterval: "500 millis" })).pipe(
  Layer.provideMerge(Logger.layer([]))
)

/** A relayer without funds that the other one tops up. */
const hotOf = Effect.fnUntraced(function* (treasury: string, network: string, topUp: object = {}) {
  const id = randomUUID()
  yield* Prepared.create("signers", { id, type: "plain" })
  const made = yield* Prepared.create("relayers", {
    id,
    name: "hot",
    network,
    network_type: "solana",
    paused: false,
    signer_id: id,
    policies: {
      top_up: {
        from: treasury,
        below: String(sol / 10n),
        to: String(sol),
        max_per_day: String(3n * sol),
        ...topUp
      }
    }
  })
  return made as { readonly id: string; readonly address: string }
})

interface Sent {
  readonly external_id?: string
  readonly status: string
  readonly code?: string
}

layer(api, { excludeTestServices: true })("a solana relayer", (it) => {
  it.effect("that has no account gets one by a top-up, and works", () =>
    Effect.gen(function* () {
      const treasury = yield* relayerAt()
      const { call, cluster } = treasury
      const { address, id } = yield* hotOf(treasury.id, treasury.id)
      yield* until(
        "funds",
        Effect.sync(() => (cluster.accountOf(address)?.lamports === sol ? true : undefined)),
        "40 seconds"
      )
      const sent = yield* until(
        "confirmed",
        Effect.map(call(treasury.path), ({ json }) =>
          (json.data as ReadonlyArray<Sent>).find(({ status }) => status === "confirmed")
        ),
        "40 seconds"
      )
      assert.match(sent.external_id ?? "", /^top-up:\d+:1$/)
      yield* until(
        "enabled",
        Effect.map(call(`/api/v1/relayers/${id}`), ({ json }) =>
          (json.data as { readonly system_disabled: boolean }).system_disabled ? undefined : true
        ),
        "40 seconds"
      )
      assert.lengthOf((yield* call(treasury.path)).json.data as ReadonlyArray<Sent>, 1)
    })
  )

  it.effect("whose payer has too little gets nothing, and the payer goes on with its other sends", () =>
    Effect.gen(function* () {
      const treasury = yield* relayerAt({ min_balance: String(95n * (sol / 10n)) })
      const { becomes, call, send } = treasury
      const { address, id } = yield* hotOf(treasury.id, treasury.id)
      const sql = yield* SqlClient.SqlClient
      const code = sql<{ code: string | null }>`
        SELECT t.code FROM relayer_top_ups t JOIN relayers r ON r.seq = t.relayer_number WHERE r.id = ${id}`.pipe(
        Effect.orDie
      )
      yield* until(
        "held",
        Effect.map(code, ([row]) => (row?.code === "payer_short" ? true : undefined)),
        "40 seconds"
      )
      const memo = {
        instructions: [
          { program_id: "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr", accounts: [], data: btoa("goes on") }
        ]
      }
      const answer = yield* send(memo)
      assert.strictEqual(answer.status, 200, answer.text)
      yield* becomes((answer.json.data as { readonly id: string }).id, "confirmed")
      assert.isUndefined(treasury.cluster.accountOf(address))
      assert.lengthOf((yield* call(treasury.path)).json.data as ReadonlyArray<Sent>, 1)
    })
  )
})
