// The two nonces of a delegation on a real node: processes that die at each point of its step, and operators that clear it. Anvil makes blocks by
// the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import type { Account } from "../../../src/server/ledger/LedgerEntries.ts"
import { ledgerTables } from "../../../src/server/ledger/Claims.ts"
import * as Anvil from "../../../testkit/Anvil.ts"
import { creationOf, executorCode } from "../../../testkit/Executors.ts"
import { until } from "../../../testkit/process/Folder.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { makeKey } from "../transactions/Fixtures.ts"
import { accept, becomes, read, receiver, relayerAt } from "./fixtures.ts"
import type { Node } from "./fixtures.ts"
import * as Processes from "./Processes.ts"

/** The API without jobs: only processes of the test send. */
const api = Layer.provideMerge(ledgerTables(), TestApi.layer()).pipe(Layer.provideMerge(Logger.layer([])))

const deploy = Effect.fnUntraced(function* (node: Node) {
  const hash = yield* node.call("eth_sendTransaction", [{ from: Anvil.funded, data: creationOf(executorCode) }])
  const receipt = yield* until(
    "deployed",
    Effect.map(node.call("eth_getTransactionReceipt", [hash]), (found) => found ?? undefined)
  )
  return (receipt as { readonly contractAddress: string }).contractAddress.toLowerCase()
})

/** Accepts a delegation without its checks. */
const acceptDelegation = (account: Account, delegate: string) =>
  accept(account, 1, {
    request: { to: account.address, value: 0n, delegate },
    facts: { delegation: { delegate, takesSignatures: true } },
    exclusive: "delegation"
  })

const delegation = (delegate: string) => `0xef0100${delegate.slice(2)}`

/** Rows of the account without bytes of a request, and what the lane has. */
const ledgerOf = Effect.fnUntraced(function* (account: Account) {
  const sql = yield* SqlClient.SqlClient
  const seconds = yield* sql<{ nonce: number; state: string; code: string | null }>`
    SELECT nonce::float8 AS nonce, state, code FROM transactions
    WHERE relayer_number = ${account.relayerNumber} AND origin = 'authorization' ORDER BY nonce`
  const [lane] = yield* sql<{ next: number; code: string | null }>`
    SELECT next_nonce::float8 AS next, code FROM lanes WHERE address = ${account.address.toLowerCase()} AND chain = ${account.chain}`
  return { seconds, lane }
}, Effect.orDie)

const isFinal = (account: Account) =>
  until(
    "second nonce final",
    Effect.map(ledgerOf(account), ({ seconds, lane }) => {
      const [second] = seconds
      return second?.state === "failed" ? { second, lane, count: seconds.length } : undefined
    })
  )

const points = [
  { at: "signed", seconds: 0 },
  { at: "committed", seconds: 1 },
  { at: "sent", seconds: 1 },
  { at: "seen", seconds: 1 }
] as const

layer(api, { excludeTestServices: true })("a process that dies while it delegates", (it) => {
  it.effect.each(points)("at `$at` leaves the second nonce explained", ({ at, seconds }) =>
    Effect.gen(function* () {
      const node = yield* Anvil.start({ blockTime: 1 })
      const account = yield* relayerAt(node)
      const delegate = yield* deploy(node)
      const first = yield* Processes.start(at)
      const [id] = yield* acceptDelegation(account, delegate)
      yield* first.reached
      assert.lengthOf((yield* ledgerOf(account)).seconds, seconds)
      yield* first.end
      yield* Processes.start()
      const { nonce, attempts } = yield* becomes(id, "confirmed")
      assert.deepStrictEqual([nonce, attempts.length], [0, 1])
      const { second, lane, count } = yield* isFinal(account)
      assert.deepStrictEqual([count, second], [1, { nonce: 1, state: "failed", code: "used_by_authorization" }])
      assert.deepStrictEqual(lane, { next: 2, code: null })
      const [next] = yield* accept(account)
      assert.strictEqual((yield* becomes(next, "confirmed")).nonce, 2)
      assert.strictEqual(yield* node.call("eth_getCode", [account.address, "latest"]), delegation(delegate))
      assert.strictEqual(yield* node.call("eth_getBalance", [receiver, "latest"]), "0x1")
    })
  )
})

layer(api, { excludeTestServices: true })("a delegation that is cleared", (it) => {
  it.effect("has its second nonce filled at once, so that nobody can use its authorization", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const node = yield* Anvil.start({ blockTime: 1 })
      const account = yield* relayerAt(node)
      const delegate = yield* deploy(node)
      yield* node.call("evm_setIntervalMining", [0])
      yield* Processes.start()
      const [id] = yield* acceptDelegation(account, delegate)
      yield* until(
        "sent",
        Effect.map(read(id), ({ state }) => (state === "submitted" ? true : undefined))
      )
      const path = `/api/v1/relayers/${account.relayerId}`
      assert.strictEqual((yield* call(`${path}/transactions/${id}`, { method: "DELETE" })).status, 409)
      const narrow = yield* call(`${path}/nonce/clear`, {
        body: { from: 0, to: 0 },
        key: yield* makeKey(["transactions:*"])
      })
      assert.strictEqual(narrow.status, 403, narrow.text)
      const cleared = yield* call(`${path}/nonce/clear`, { body: { from: 0, to: 0 } })
      assert.strictEqual(cleared.status, 200, cleared.text)
      yield* until(
        "no-op sent",
        Effect.map(read(id), ({ attempts }) =>
          attempts.at(-1)?.kind === "noop" && attempts.at(-1)?.outcome === "accepted" ? true : undefined
        )
      )
      yield* node.call("evm_setIntervalMining", [1])
      assert.strictEqual((yield* becomes(id, "failed")).mined?.ordinal, 2)
      const { second, lane } = yield* isFinal(account)
      assert.deepStrictEqual([second.nonce, second.code, lane?.next], [1, "gap_filled", 2])
      assert.strictEqual(yield* node.call("eth_getCode", [account.address, "latest"]), "0x")
      assert.strictEqual(yield* node.call("eth_getTransactionCount", [account.address, "latest"]), "0x2")
    })
  )
})
