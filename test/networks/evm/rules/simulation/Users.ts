// What callers do: they change the ledger, and never the chain.
import { Result, Struct } from "effect"
import { canReplace, replaced } from "../../../../../src/networks/core/Rules.ts"
import { isFinal } from "../../../../../src/networks/core/Transaction.ts"
import { withCancellation } from "../../../../../src/networks/core/Transition.ts"
import type { Transaction } from "../../../../../src/networks/core/Transaction.ts"
import type { Evm, Request } from "../../../../../src/networks/evm/rules/Evm.ts"
import { noDelegate } from "../../../../../src/networks/evm/rules/Authorizations.ts"
import { isDelegation } from "../../../../../src/networks/evm/rules/Delegation.ts"
import { cancel, evmRules, replacementViolations } from "../../../../../src/networks/evm/rules/EvmRules.ts"
import { listOf, newList } from "./Authorities.ts"
import { delays, fallbacks, offers, priorities, validities } from "./Step.ts"
import type { Step } from "./Step.ts"
import { accept, address, executor, receiver, store, transactionOf } from "./World.ts"
import type { World } from "./World.ts"

/** Open transactions at most: the steps mean one of the newest four. */
const maxOpen = 5

/** `number` of the transaction that a step means: steps count from the newest. */
const chosen = (world: World, which: number): number | undefined => world.ledger.transactions.at(-1 - which)?.number

const deadlineIn = (world: World, lasts: number): number | undefined => {
  const seconds = validities[lasts]
  return seconds === undefined ? undefined : world.now + seconds * 1000
}

const openCount = (world: World): number => world.ledger.transactions.filter((one) => !isFinal(one)).length

/** Each request has a value of its own, which identifies its effects. */
const requestOf = (value: bigint, offer: number): Request => ({ to: receiver, value, ...offers[offer] })

const newRequest = (world: World, offer: number, ahead?: number): Request => {
  const request = requestOf(BigInt(world.lastNumber + 1) * 1000n, offer)
  return ahead === undefined ? request : withList(request, newList(world, ahead))
}

/** A request with authorizations has no gas price. */
const withList = (request: Request, list: Request["authorization_list"]): Request =>
  list === undefined ? request : { ...Struct.omit(request, ["gas_price"]), authorization_list: list }

type Accept = Extract<Step, { readonly do: "Accept" }>

/** The route is a fact of the transaction: a policy that changes later does not change it. */
const routeOf = ({ isPrivate = false, fallback = 0 }: Accept): Partial<Transaction<Evm>> => {
  const seconds = fallbacks[fallback]
  const after = seconds === undefined ? {} : { fallbackAfter: seconds * 1000 }
  return isPrivate ? { route: { kind: "private", ...after } } : {}
}

export const acceptOne = (world: World, step: Accept): void => {
  if (openCount(world) >= maxOpen) return
  const required = Math.max(step.requires - 2, 0)
  const delay = (delays[step.delay] ?? 0) * 1000
  const validUntil = deadlineIn(world, step.lasts) ?? world.now
  accept(world, {
    versions: [newRequest(world, step.offer, step.ahead)],
    relayerNumber: step.relayer === 2 ? 2 : 1,
    priority: priorities[step.priority] ?? 0,
    validUntil: validUntil + delay,
    ...routeOf(step),
    ...(delay === 0 ? {} : { notBefore: world.now + delay }),
    ...(required === 0 ? {} : { requiredSequence: BigInt(world.ledger.lane.nextNonce + required) })
  })
}

type Batch = Extract<Step, { readonly do: "Batch" }>

export const acceptBatch = (world: World, { count, requires, offer }: Batch): void => {
  const { nextNonce } = world.ledger.lane
  if (openCount(world) + count >= maxOpen) return
  for (let index = 0; index <= count; index++) {
    const required = requires ? { requiredSequence: BigInt(nextNonce + index) } : {}
    accept(world, { versions: [newRequest(world, offer)], ...required })
  }
}

/** The ledger takes one at a time. */
export const acceptDelegation = (world: World, ends: boolean): void => {
  const isOpen = world.ledger.transactions.some((one) => !isFinal(one) && isDelegation(one))
  if (isOpen || openCount(world) >= maxOpen) return
  const delegate = ends ? noDelegate : executor
  accept(
    world,
    { facts: { delegation: { delegate, takesSignatures: true } } },
    { to: address, value: 0n, gas_limit: 210_000n, delegate }
  )
}

type Calls = Extract<Step, { readonly do: "Calls" }>

export const acceptCalls = (world: World, { lasts }: Calls): void => {
  if (openCount(world) >= maxOpen) return
  const value = BigInt(world.lastNumber + 1) * 1000n
  const calls = [
    { to: receiver, value },
    { to: receiver, value: 0n }
  ]
  accept(world, {
    versions: [{ value, gas_limit: 210_000n, calls }],
    validUntil: deadlineIn(world, lasts) ?? world.now
  })
}

const cancelOne = (world: World, number: number): void => {
  const transaction = transactionOf(world, number)
  const result = cancel(transaction)
  if (Result.isSuccess(result)) store(world, withCancellation(transaction, result.success, world.now))
}

export const cancelChosen = (world: World, which: number): void => {
  const number = chosen(world, which)
  if (number !== undefined) cancelOne(world, number)
}

export const cancelAll = (world: World): void => {
  for (const { number, relayerNumber } of world.ledger.transactions) if (relayerNumber === 1) cancelOne(world, number)
}

type Replace = Extract<Step, { readonly do: "Replace" }>

export const replaceChosen = (world: World, { which, offer, lasts }: Replace): void => {
  const number = chosen(world, which)
  if (number === undefined) return
  const transaction = transactionOf(world, number)
  const { origin, versions } = transaction
  const isReplaceable = evmRules.canReplace ?? canReplace
  if (Result.isFailure(isReplaceable(transaction)) || origin !== "request") return
  // It keeps the list, as an intake does.
  const request = withList(requestOf(versions[0].value + BigInt(versions.length), offer), listOf(transaction))
  const validUntil = deadlineIn(world, lasts)
  if (replacementViolations(transaction, request, validUntil).length > 0) return
  store(world, replaced(transaction, request, validUntil))
}
