// Rules of the guard that hold for every envelope, independent of the account that is its source.
import type { Operation, TransactionEnvelope } from "./Envelope.ts"
import { isSoroban, signersOf } from "./Envelope.ts"
import { refusal } from "./Refusal.ts"
import type { Refusal } from "./Refusal.ts"
import { lateSlack, maxOperations } from "./StellarNumbers.ts"

/** What the guard compares an envelope with. */
export interface Terms {
  /** Address of the relayer. */
  readonly relayer: string
  /** The channel whose sequence the envelope uses. Absent: it uses that of the relayer. */
  readonly channel?: string
  /** Accounts of all relayers and channels of the service on this network. */
  readonly own: ReadonlySet<string>
  /** The contract that takes fees of users in tokens. Absent: the network has none. */
  readonly forwarder?: string
  /** Address of the native asset's contract, which follows from the passphrase. */
  readonly nativeContract: string
  /** Unix seconds. */
  readonly now: number
  readonly strategy: "relayer" | "user"
  /** Operations that the policy allows beside the default ones. */
  readonly allowedOperations: ReadonlyArray<string>
  /** Assets that users may pay with: `CODE:ISSUER`. */
  readonly allowedTokens: ReadonlyArray<string>
  readonly maxSubentries: number
  /** Stroops that an account locks per entry (`LedgerHeader.baseReserve`). */
  readonly baseReserve: bigint
  /** Contracts of which the envelope authorizes `trust`, and that may be those of assets. Absent: a lane reads it of the chain. */
  readonly assetContracts?: ReadonlySet<string>
  /** Seconds that the time bounds of a foreign envelope may lie ahead. */
  readonly timeLimit: number
  /** Stroops that an envelope may cost, and the rate per operation that is bid now. */
  readonly cap: bigint
  readonly rate: bigint
}

export type Rule = (envelope: TransactionEnvelope, terms: Terms) => Refusal | undefined

/** The first rule that an envelope breaks. */
export const firstBroken = (
  rules: ReadonlyArray<Rule>,
  envelope: TransactionEnvelope,
  terms: Terms
): Refusal | undefined => {
  for (const rule of rules) {
    const broken = rule(envelope, terms)
    if (broken !== undefined) return broken
  }
  return undefined
}

/** The first operation of which a rule says something. Operations are counted from 1. */
export const eachOperation =
  (rule: (operation: Operation, number: number, terms: Terms) => Refusal | undefined): Rule =>
  ({ operations }, terms) => {
    for (const [index, operation] of operations.entries()) {
      const broken = rule(operation, index + 1, terms)
      if (broken !== undefined) return broken
    }
    return undefined
  }

const count: Rule = ({ operations: { length } }) =>
  length >= 1 && length <= maxOperations
    ? undefined
    : refusal("operation_count", `expected 1 to ${maxOperations} operations, found ${length}`)

const sorobanAlone: Rule = ({ operations }) =>
  operations.length > 1 && operations.some(isSoroban)
    ? refusal("soroban_not_alone", "a call of a contract must be the only operation")
    : undefined

const sorobanMemo: Rule = ({ hasMemo, operations }) =>
  hasMemo && operations.some(isSoroban)
    ? refusal("memo", "Soroban operations cannot have a memo (except MemoNone)")
    : undefined

const muxedSource: Rule = ({ source }) =>
  source.isMuxed ? refusal("muxed_source", "the source must be an address G…, not a muxed one") : undefined

const preconditions: Rule = ({ ledgerBounds, preconditions: [first] }) => {
  const found = first ?? (ledgerBounds !== undefined && ledgerBounds.minLedger > 0 ? "minLedger" : undefined)
  return found === undefined ? undefined : refusal("preconditions_unsupported", `${found} is not supported`)
}

const resources: Rule = ({ resourceFee = 0n }) =>
  resourceFee < 0n ? refusal("resource_fee", "the fee of the resources must not be negative") : undefined

/** Since protocol 23, the envelope in a fee bump may pay less: the fee bump pays for the resources. */
export const paidResources: Rule = ({ fee, resourceFee = 0n }) =>
  resourceFee > fee
    ? refusal("resource_fee", `the fee of the resources must be at most ${fee}, the fee of the transaction`)
    : undefined

const authKind = eachOperation((operation, number) => {
  if (operation.type !== "invokeHostFunction") return undefined
  for (const { credentials } of operation.auth) {
    if (credentials.kind === "unsupported") {
      return refusal("auth_kind_unsupported", `operation ${number} has credentials of the kind ${credentials.name}`)
    }
  }
  return undefined
})

/** Credentials that name one of the service's accounts, also as a delegate. Nothing signs for them. */
const authOfOwn = eachOperation((operation, number, { own }) => {
  if (operation.type !== "invokeHostFunction") return undefined
  const found = operation.auth.some(({ credentials }) => signersOf(credentials).some((address) => own.has(address)))
  return found
    ? refusal("auth_of_own_account", `operation ${number} has an authorization of an account of this service`)
    : undefined
})

export const common: ReadonlyArray<Rule> = [
  count,
  sorobanAlone,
  sorobanMemo,
  muxedSource,
  preconditions,
  resources,
  authKind,
  authOfOwn
]

/** The envelope is sent by others, or its sequence is theirs: it must die soon. */
export const timeBounds: Rule = ({ timeBounds: bounds }, { now, timeLimit }) => {
  if (bounds === undefined || bounds.maxTime === 0n)
    return refusal("time_bounds_missing", "the envelope needs a maxTime")
  if (bounds.maxTime <= BigInt(now + lateSlack)) {
    return refusal("time_bounds_past", `maxTime must be more than ${lateSlack} seconds ahead`)
  }
  if (bounds.maxTime > BigInt(now + timeLimit)) {
    return refusal("time_bounds_too_long", `maxTime must be at most ${timeLimit} seconds ahead`)
  }
  return bounds.minTime > BigInt(now) ? refusal("time_bounds_future", "minTime must not be in the future") : undefined
}
