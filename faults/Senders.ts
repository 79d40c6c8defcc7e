// Relayers on a node, and transactions that are accepted for them while the service may be dead.
import { Array, Clock, Effect, Schema } from "effect"
import type { PgClient } from "@effect/sql-pg"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { TransactionId } from "../src/domain/transaction/EvmTransaction.ts"
import { RelayerId } from "../src/domain/relayer/Relayer.ts"
import { LanesRepo } from "../src/server/ledger/LanesRepo.ts"
import * as LedgerTables from "../src/server/ledger/LedgerTables.ts"
import { NewTransactionsRepo } from "../src/server/ledger/NewTransactionsRepo.ts"
import type { Account } from "../src/server/ledger/NewTransaction.ts"
import type { Listening } from "../testkit/process/Service.ts"
import * as Sql from "./Sql.ts"

/** Each transaction sends 1 wei there: its balance counts the effects. */
export const receiver = `0x${"cd".repeat(20)}`

const Created = Schema.fromJsonString(Schema.Struct({ data: Schema.Struct({ id: Schema.String }) }))
const Relayer = Schema.fromJsonString(Schema.Struct({ data: Schema.Struct({ id: RelayerId, address: Schema.String }) }))

const create = Effect.fnUntraced(function* (service: Listening, resource: string, body: object) {
  const { status, text } = yield* service.call(`/api/v1/${resource}`, { body })
  if (status !== 201) return yield* Effect.die(new Error(`${resource}: ${status} ${text}`))
  return text
})

const evmNetwork = (url: string) => ({
  network_type: "evm",
  name: "anvil",
  chain_id: 31_337,
  rpc_urls: [url],
  average_blocktime_ms: 1000,
  required_confirmations: 1,
  features: ["eip1559"],
  symbol: "ETH"
})

/** Creates relayers on the node at `url`. */
export const relayers = Effect.fnUntraced(function* (service: Listening, url: string, count: number) {
  yield* create(service, "networks", evmNetwork(url))
  return yield* Effect.forEach(Array.range(1, count), () =>
    Effect.gen(function* () {
      const signer = yield* create(service, "signers", { type: "plain" })
      const { id } = (yield* Schema.decodeEffect(Created)(signer)).data
      const body = { name: "R", network: "anvil", network_type: "evm", paused: false, signer_id: id }
      return (yield* Schema.decodeEffect(Relayer)(yield* create(service, "relayers", body))).data
    })
  ).pipe(Effect.orDie)
})

type Sender = Effect.Success<ReturnType<typeof relayers>>[number]

const validity = 8 * 3_600_000

const accepting = Effect.fnUntraced(function* (senders: ReadonlyArray<Sender>, count: number) {
  const sql = yield* SqlClient.SqlClient
  const now = yield* Clock.currentTimeMillis
  const rows = yield* sql<{ readonly id: string; readonly seq: number }>`SELECT id, seq::float8 AS seq FROM relayers`
  const numbers = new Map(rows.map(({ id, seq }) => [id, seq]))
  const accounts = senders.map(({ id, address }): Account => {
    const relayerNumber = numbers.get(id) ?? 0
    return { relayerId: id, relayerNumber, chain: "evm:31337", address, window: 64 }
  })
  yield* (yield* LanesRepo).ensure(accounts)
  const acceptances = accounts.flatMap((account) =>
    Array.makeBy(count, () => ({
      account,
      transaction: {
        id: TransactionId.make(randomUUID()),
        request: { to: receiver, value: 1n, gas_limit: 21_000n },
        validUntil: now + validity,
        priority: 0,
        body: "{}"
      },
      bodyHash: "hash",
      origin: { keyId: "faults", requestId: null, clientAddress: null },
      trace: undefined,
      now
    }))
  )
  return (yield* (yield* NewTransactionsRepo).insert(acceptances, true)).length
})

/** Accepts `count` transactions for each sender, and returns how many were accepted. */
export const accept = (database: PgClient.PgPoolConfig, senders: ReadonlyArray<Sender>, count: number) =>
  Sql.on(database, accepting(senders, count).pipe(Effect.provide(LedgerTables.layer())))

/** How many transactions are in each state. */
export const states = (database: PgClient.PgPoolConfig) =>
  Sql.on(
    database,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql<{ readonly state: string; readonly count: number }>`
        SELECT state, count(*)::float8 AS count FROM transactions WHERE origin = 'request' GROUP BY state`
      return new Map(rows.map(({ state, count }) => [state, count]))
    })
  )
