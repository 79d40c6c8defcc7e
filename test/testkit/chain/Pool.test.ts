// The pool in memory answers as geth does, to the rows of its table that are about nonces, prices and funds.
import { assert, describe, it } from "@effect/vitest"
import { classify } from "../../../src/networks/evm/rules/Refusal.ts"
import * as Pool from "../../../src/testkit/chain/Pool.ts"
import { funds, rules, usual } from "../../server/lanes/PoolTable.ts"
import type { Sent } from "../../server/lanes/PoolTable.ts"

const bytesOf = (nonce: number, sent: Sent): Pool.PoolBytes => {
  const { gas, maxFee, tip, value } = sent
  return { hash: `${nonce} ${maxFee} ${tip} ${value}`, nonce, maxFee, tip, cost: gas * maxFee + value }
}

const stateOf = (pool: Pool.Pool<Pool.PoolBytes>, count = 0) => ({ pool, count, balance: funds })

const answerTo = (state: Pool.PoolState<Pool.PoolBytes>, bytes: Pool.PoolBytes) => {
  const offered = Pool.offer(state, bytes)
  return classify(typeof offered === "string" ? { _tag: "RpcError", message: offered } : { _tag: "Hash" })
}

/** Answers of the pool itself, not of what checks bytes before. */
const known = new Set(["accepted", "bump", "funds"])

const rows = Object.entries(rules).filter(([, { former, geth }]) => known.has(geth) && (former || geth === "funds"))

describe("the pool in memory", () => {
  it.each(rows)("answers %s as geth", (_, { former, sent, geth }) => {
    // A gap before the nonce keeps it from being executable.
    const pool = new Map(former === undefined ? [] : [[1, bytesOf(1, former)]])
    assert.strictEqual(answerTo(stateOf(pool), bytesOf(1, sent)), geth)
  })

  it("refuses a used nonce, also for bytes that were mined", () => {
    assert.strictEqual(answerTo(stateOf(new Map(), 1), bytesOf(0, usual)), "nonce")
  })

  it("refuses what the account cannot pay besides what is executable, and counts a replacement once", () => {
    const half = { ...usual, value: funds / 2n }
    const state = stateOf(new Map([[0, bytesOf(0, half)]]))
    assert.strictEqual(answerTo(state, bytesOf(1, half)), "funds")
    assert.strictEqual(
      answerTo(state, bytesOf(0, { ...half, maxFee: 2n * usual.maxFee, tip: 2n * usual.tip })),
      "accepted"
    )
    assert.strictEqual(answerTo(stateOf(new Map([[2, bytesOf(2, half)]])), bytesOf(0, half)), "accepted")
  })
})
