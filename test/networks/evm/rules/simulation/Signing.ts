// Signs bytes and commits them with their nonce, as one step.
import { assert } from "@effect/vitest"
import { present } from "../../../../../src/networks/core/Presentation.ts"
import type { NextRow, Sign } from "../../../../../src/networks/core/Rules.ts"
import { isFinal, newestRequest } from "../../../../../src/networks/core/Transaction.ts"
import type { Attempt, Transaction } from "../../../../../src/networks/core/Transaction.ts"
import { withAttempt } from "../../../../../src/networks/core/Transition.ts"
import { maxFeesOf } from "../../../../../src/networks/evm/rules/Costs.ts"
import { wireOf } from "../../../../../src/networks/evm/rules/Batch.ts"
import { authorizationOrigin, isDelegation } from "../../../../../src/networks/evm/rules/Delegation.ts"
import type { Evm, Request } from "../../../../../src/networks/evm/rules/Evm.ts"
import { maxFeeOf, tipOf } from "../../../../../src/networks/evm/rules/Market.ts"
import type { Fees } from "../../../../../src/networks/evm/rules/Market.ts"
import { dieAt } from "./Faults.ts"
import type { Faults } from "./Faults.ts"
import { address, store, transactionOf } from "./World.ts"
import type { Bytes, World } from "./World.ts"

const hashOf = (nonce: number, what: string, fees: Fees): string =>
  `${nonce} ${what} ${maxFeeOf(fees)} ${fees.type === "legacy" ? "" : fees.tip}`

/** What others read of the bytes. */
const effectOf = (request: Request) => {
  const { to, value, data = "0x" } = wireOf(request, address)
  return { ...(to === undefined ? {} : { to }), value, data }
}

/** The row of the nonce that an authorization is to use. */
const explainNext = (
  world: World,
  { relayerNumber }: Transaction<Evm>,
  nonce: number,
  { origin, request }: NextRow<Evm>
) => {
  store(world, {
    number: ++world.lastNumber,
    relayerNumber,
    origin,
    generation: world.ledger.lane.generation,
    versions: [request],
    intent: "clear",
    clearCode: "gap_filled",
    facts: {},
    state: "submitted",
    causeSince: world.now,
    priority: 0,
    restored: false,
    validUntil: world.now,
    requeues: 0,
    createdAt: world.now,
    attempts: [],
    place: { account: address, sequence: BigInt(nonce) }
  })
}

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
    effect: isNoop ? undefined : effectOf(request),
    request: isNoop ? undefined : transaction.number,
    ...(isNoop || request.delegate === undefined ? {} : { delegate: request.delegate }),
    ...(isNoop || request.calls === undefined ? {} : { isBatch: true as const }),
    ...(isNoop ? {} : present("entry", request.authorization_list?.[0]))
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

/** Nothing is signed for the first time behind a delegation that is not final, nor behind its second nonce. */
const assertQuiet = (world: World, number: number): void => {
  const { lane, transactions } = world.ledger
  const open = transactions.filter(
    (one) => one.number !== number && one.place !== undefined && one.generation === lane.generation && !isFinal(one)
  )
  assert.isFalse(
    open.some((one) => isDelegation(one) || one.origin === authorizationOrigin),
    "something was signed behind a delegation"
  )
  if (isDelegation(transactionOf(world, number))) assert.isEmpty(open, "a delegation was signed behind something")
}

export const sign = (world: World, faults: Faults, number: number, nonce: number, command: Sign<Evm>): void => {
  const transaction = transactionOf(world, number)
  const { bytes, attempt } = signed(world, transaction, nonce, command)
  dieAt(faults, "before_commit")
  world.bytes.set(bytes.hash, bytes)
  if (command.kind === "original") assertQuiet(world, number)
  store(world, withAttempt(transaction, attempt, command.cause, world.now))
  if (command.next !== undefined) explainNext(world, transaction, nonce + 1, command.next)
  const { lane } = world.ledger
  const nextNonce = Math.max(lane.nextNonce, nonce + (command.next === undefined ? 1 : 2))
  world.ledger = { ...world.ledger, lane: { ...lane, nextNonce } }
  world.memory = { ...world.memory, lastSignedAt: world.now }
  dieAt(faults, "after_commit")
}
