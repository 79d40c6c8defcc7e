// Relayers and transactions in the tables of the ledger, without the rules of the services that create them.
import { Array, Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { CurrentCaller } from "../src/domain/access/Caller.ts"
import { RelayerId } from "../src/domain/relayer/Relayer.ts"
import { Ledger } from "../src/server/ledger/Ledger.ts"
import { TransactionId } from "../src/networks/core/TransactionValues.ts"
import * as LanesRepo from "../src/server/ledger/LanesRepo.ts"
import type { Account, NewTransaction } from "../src/server/ledger/LedgerEntries.ts"
import { makeNewTransactions } from "../src/server/ledger/TransactionsRepo.ts"
import { authenticateRows } from "./authenticateRows.ts"

const receiver = `0x${"ab".repeat(20)}`

/** Relayers 1 to `count`, each with a signer of its own. */
export const insertRelayers = Effect.fnUntraced(function* (count: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    INSERT INTO signers (id, type, evm_address)
    SELECT 's' || i, 'plain', '0x' || lpad(i::text, 40, '0') FROM generate_series(1, ${count}::int) i`
  yield* sql`
    INSERT INTO relayers (id, name, network_type, network, address, paused, signer_id)
    SELECT 'r' || i, 'Relayer ' || i, 'evm', 'sepolia', '0x' || lpad(i::text, 40, '0'), false, 's' || i
    FROM generate_series(1, ${count}::int) i`
})

/** Relayers with these ids, which API keys may name, if there are none yet: all with one signer, and nothing reads more of them than that they exist. */
export const insertNamed = Effect.fnUntraced(function* (...ids: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  const named = Effect.gen(function* () {
    yield* sql`INSERT INTO signers (id, type, evm_address) VALUES ('of-named', 'plain', ${receiver}) ON CONFLICT DO NOTHING`
    yield* sql`
      INSERT INTO relayers (id, name, network_type, network, address, paused, signer_id)
      SELECT i, i, 'evm', 'sepolia', ${receiver}, false, 'of-named' FROM unnest(${ids}::text[]) i
      ON CONFLICT DO NOTHING`
    yield* authenticateRows()
  })
  yield* sql.withTransaction(named)
})

/** Each relayer has a lane for itself; `lane` gives it that of another one. */
export const account = (relayer: number, lane = relayer): Account => ({
  relayerId: RelayerId.make(`r${relayer}`),
  relayerNumber: relayer,
  chain: "evm:11155111",
  address: `0x${String(lane).padStart(40, "0")}`,
  window: 64
})

export const newTransaction = (now: number, over: Partial<NewTransaction> = {}): NewTransaction => ({
  id: TransactionId.make(randomUUID()),
  request: { to: receiver, value: 1n, gas_limit: 21_000n },
  facts: {},
  validUntil: now + 8 * 3_600_000,
  priority: 0,
  body: "{}",
  ...over
})

/** Accepts transactions without the rules of acceptance. */
export const insert = Effect.fnUntraced(function* (of: Account, count: number, over: Partial<NewTransaction> = {}) {
  const now = yield* Clock.currentTimeMillis
  yield* (yield* LanesRepo.make).ensure([of])
  const acceptances = Array.makeBy(count, () => ({
    account: of,
    transaction: newTransaction(now, over),
    bodyHash: "hash",
    origin: { keyId: "key", requestId: null, clientAddress: null },
    trace: undefined,
    now
  }))
  const inserted = yield* (yield* makeNewTransactions).insert(acceptances, true)
  if (inserted.length !== count) return yield* Effect.die(new Error(`${inserted.length} of ${count} were inserted`))
  return inserted.map(({ id }) => id)
})

/** The same through the ledger, whichever it is. */
export const accept = Effect.fnUntraced(function* (of: Account, count: number, over: Partial<NewTransaction> = {}) {
  const now = yield* Clock.currentTimeMillis
  const accepting = Effect.flatMap(Ledger, (ledger) =>
    ledger.accept(
      of,
      Array.makeBy(count, () => newTransaction(now, over))
    )
  )
  const accepted = yield* Effect.orDie(Effect.provideService(accepting, CurrentCaller, { id: "key" }))
  return Array.map(accepted, ({ stored }) => stored.id)
})
