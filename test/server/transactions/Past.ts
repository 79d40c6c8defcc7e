// Transactions that are final, without a chain, and a provider that knows the base fees of their time.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as RpcServer from "../../../testkit/RpcServer.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { prepare } from "./Fixtures.ts"

const gwei = 1_000_000_000n

/** As if a lane had sent each transaction, and a block had taken it at this base fee in gwei. They were sent at height 10. */
export const confirm = Effect.fnUntraced(function* (ids: ReadonlyArray<string>, baseFee: bigint) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    INSERT INTO attempts (transaction_id, ordinal, kind, request_version, hash, raw, nonce, offer, epoch, signed_at, sends,
      first_sent_at, first_sent_block, outcome, receipt)
    SELECT id, 1, 'original', 1, 'hash-' || id, '\\x02c0', number, ${`{"type":"eip1559","maxFee":"${200n * gwei}","tip":"${gwei}","gasLimit":"21000"}`}::json,
      1, created_at, 1, created_at, 10, 'accepted',
      ${`{"blockNumber":20,"isSuccess":true,"gasUsed":"21000","effectiveGasPrice":"${(baseFee + 1n) * gwei}"}`}::json
    FROM transactions WHERE id = ANY(${ids}::uuid[])`
  yield* sql`
    UPDATE transactions SET state = 'confirmed', nonce = number, mined_attempt = 1, final_at = created_at
    WHERE id = ANY(${ids}::uuid[])`
})

const hex = (value: bigint | number) => `0x${value.toString(16)}`

/** A provider at height 14, with these base fees in gwei of the blocks after 10. */
const node = Effect.fnUntraced(function* (baseFees: ReadonlyArray<bigint>) {
  const server: RpcServer.RpcServer = yield* RpcServer.make({
    eth_chainId: () => hex(31_337),
    eth_getBlockByNumber: ([block]) => ({ number: block === "latest" ? hex(14) : "0x0", hash: `0x${"11".repeat(32)}` }),
    eth_feeHistory: () => ({ baseFeePerGas: [...baseFees, 1n].map((fee) => hex(fee * gwei)) })
  })
  if (baseFees.length === 0) server.results.delete("eth_feeHistory")
  return server
})

/** A relayer with a provider. Without base fees, the provider does not know them. */
export const prepareAt = Effect.fnUntraced(function* (policies: object, baseFees: ReadonlyArray<bigint> = []) {
  yield* prepare(policies)
  const server = yield* node(baseFees)
  const { call } = yield* TestApi.TestApi
  const body = { custom_rpc_urls: [{ url: server.url }] }
  assert.strictEqual((yield* call("/api/v1/relayers/sender", { method: "PATCH", body })).status, 200)
  return server
})
