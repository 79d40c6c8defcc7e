// Signs bytes and commits them with their nonce, as one step.
import type { Sign } from "../../../../../src/networks/core/Rules.ts"
import { newestRequest } from "../../../../../src/networks/core/Transaction.ts"
import type { Attempt, Transaction } from "../../../../../src/networks/core/Transaction.ts"
import { withAttempt } from "../../../../../src/networks/core/Transition.ts"
import { maxFeesOf } from "../../../../../src/networks/evm/rules/Costs.ts"
import type { Evm } from "../../../../../src/networks/evm/rules/Evm.ts"
import { maxFeeOf, tipOf } from "../../../../../src/networks/evm/rules/Market.ts"
import type { Fees } from "../../../../../src/networks/evm/rules/Market.ts"
import { dieAt } from "./Faults.ts"
import type { Faults } from "./Faults.ts"
import { address, store, transactionOf } from "./World.ts"
import type { Bytes, World } from "./World.ts"

const hashOf = (nonce: number, what: string, fees: Fees): string =>
  `${nonce} ${what} ${maxFeeOf(fees)} ${fees.type === "legacy" ? "" : fees.tip}`

const signed = (world: World, transaction: Transaction<Evm>, nonce: number, sign: Sign<Evm>) => {
  const version = transaction.versions.length
  const request = newestRequest(transaction)
  const isNoop = sign.kind === "noop"
  const hash = hashOf(nonce, isNoop ? "noop" : `request ${transaction.number} version ${version}`, sign.offer.fees)
  const value = isNoop ? 0n : request.value
  const maxFees = maxFeesOf(sign.offer)
  const bytes: Bytes = {
    hash,
    nonce,
    maxFee: maxFeeOf(sign.offer.fees),
    tip: tipOf(sign.offer.fees),
    cost: maxFees + value,
    maxFees,
    effect: isNoop ? undefined : { ...(request.to === undefined ? {} : { to: request.to }), value, data: "0x" },
    request: isNoop ? undefined : transaction.number
  }
  const attempt: Attempt<Evm> = {
    ordinal: transaction.attempts.length + 1,
    kind: sign.kind,
    generation: world.ledger.lane.generation,
    requestVersion: version,
    hash,
    place: { account: address, sequence: BigInt(nonce) },
    offer: sign.offer,
    maxFee: sign.maxFee,
    signedAt: world.now,
    sends: 0,
    outcome: "unknown"
  }
  return { bytes, attempt }
}

export const sign = (world: World, faults: Faults, number: number, nonce: number, command: Sign<Evm>): void => {
  const transaction = transactionOf(world, number)
  const { bytes, attempt } = signed(world, transaction, nonce, command)
  dieAt(faults, "before_commit")
  world.bytes.set(bytes.hash, bytes)
  store(world, withAttempt(transaction, attempt, command.cause, world.now))
  const { lane } = world.ledger
  world.ledger = { ...world.ledger, lane: { ...lane, nextNonce: Math.max(lane.nextNonce, nonce + 1) } }
  world.memory = { ...world.memory, lastSignedAt: world.now }
  dieAt(faults, "after_commit")
}
