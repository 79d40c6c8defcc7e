// What used the nonce of a transaction, as providers report it.
import type { TakerEvidence } from "../../../../src/networks/evm/rules/Evm.ts"
import { summary } from "./DecisionTable.ts"
import { commandsOf, lane, seen, submitted } from "./Fixtures.ts"
import type { LaneFields } from "./Fixtures.ts"
import { address, receiver } from "./simulation/World.ts"

/** A block at which the account's count passed the nonce of `submitted()`, and that is deep. */
const passed = seen({ count: 6, countAtFinal: 6, head: { number: 200, hash: "head" }, finalHeight: 198 })

export const fetched = (over: Partial<Extract<TakerEvidence, { _tag: "Fetched" }>> = {}): TakerEvidence => ({
  _tag: "Fetched",
  hash: "foreign",
  sender: address,
  nonce: 5,
  call: { to: receiver, value: 999n, data: "0x" },
  block: 150,
  blockHash: "block-150",
  second: { hash: "block-150", finalHeight: 198 },
  ...over
})

export const onTaker = (taker: TakerEvidence, transaction = submitted(), over: Partial<LaneFields> = {}) =>
  summary(commandsOf(transaction, lane(over), { ...passed, taker }))
