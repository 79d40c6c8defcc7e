// Rules of lists of authorizations: what is refused when a request arrives, and what keeps a list from being signed.
import { cause } from "../../core/Cause.ts"
import type { Cause, KnownCode } from "../../core/Cause.ts"
import { includes } from "../../core/TransactionLimits.ts"
import { newestRequest } from "../../core/Transaction.ts"
import type { Transaction } from "../../core/Transaction.ts"
import { addressFault } from "../../../domain/chain/MistypedAddresses.ts"
import { authorityReceiver } from "../../../domain/relayer/Policy.ts"
import type { Violation } from "../../../domain/request/Request.ts"
import { delegateOf, isDelegated, isForeignCode, noDelegate, standingOfList } from "./Authorizations.ts"
import type { ListStanding, SignedAuthorization } from "./Authorizations.ts"
import type { Evm, EvmTerms, Request, Seen } from "./Evm.ts"

const listField = "authorization_list"

/** The field of an entry, or one inside of it. */
export const entryField = (index: number, member?: string): string =>
  member === undefined ? `${listField}.${index}` : `${listField}.${index}.${member}`

type List = ReadonlyArray<SignedAuthorization>

/** One violation per entry at most: the first that holds. */
const ofEntries = (
  list: List,
  of: (entry: SignedAuthorization, index: number) => Violation | undefined
): ReadonlyArray<Violation> => list.flatMap((entry, index) => of(entry, index) ?? [])

/** The policy names each delegate, zero included. */
export const delegateViolations = (
  { authorization_list: list = [] }: Pick<Request, "authorization_list">,
  { delegates }: Pick<EvmTerms, "delegates">
): ReadonlyArray<Violation> => {
  if (list.length === 0) return []
  if (delegates === undefined) {
    return [{ field: listField, message: "cannot be used because the relayer's policy has no allowed_delegates" }]
  }
  return ofEntries(list, ({ address }, index) =>
    includes("evm", delegates, address)
      ? undefined
      : { field: entryField(index, "address"), message: "is not in allowed_delegates of the relayer's policy" }
  )
}

const networkViolation = ({ network }: EvmTerms): Violation | undefined => {
  if (!network.hasAuthorizations) {
    return { field: listField, message: "cannot be used because the network does not have the feature eip7702" }
  }
  return network.isEip1559
    ? undefined
    : { field: listField, message: "cannot be used because the network does not support EIP-1559 fees" }
}

const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase()

const entryViolation = (list: List, chainId: number) =>
  ofEntries(list, (entry, index) => {
    const { address, authority } = entry
    if (entry.chainId !== 0 && entry.chainId !== chainId) {
      return { field: entryField(index, "chain_id"), message: `must be ${chainId}, the chain of the network, or 0` }
    }
    if (list.findIndex((other) => other.authority === authority) < index) {
      return { field: entryField(index), message: "is of the same account as an entry before it" }
    }
    if (isSame(address, authority)) {
      return {
        field: entryField(index, "address"),
        message: "is the account that has signed it: each call of the account would use all of its gas"
      }
    }
    const message = addressFault("evm", address)
    return message === undefined ? undefined : { field: entryField(index, "address"), message }
  })

/** What is wrong with the list of a request, whatever the chain says. */
export const listViolations = (
  request: Pick<Request, "to" | "calls" | "gas_price" | "authorization_list">,
  terms: EvmTerms
): ReadonlyArray<Violation> => {
  const { authorization_list: list, calls, gas_price, to } = request
  if (list === undefined || calls !== undefined) return []
  const network = networkViolation(terms)
  return [
    ...(network === undefined ? [] : [network]),
    ...(to === undefined
      ? [
          {
            field: "to",
            message:
              "is required with authorization_list: name the account that is called. viem fills in the account of the first entry if it is absent"
          }
        ]
      : []),
    ...(gas_price === undefined
      ? []
      : [{ field: "gas_price", message: "cannot be given together with authorization_list" }]),
    ...entryViolation(list, terms.network.chainId)
  ]
}

/**
 * Stands in lists of receivers for the accounts of the authorizations of a request. Anybody can make such an account, so that it gets calls and no
 * value.
 */
export const isAuthority = (
  { authorization_list: list = [], to, value }: Pick<Request, "to" | "value" | "authorization_list">,
  receivers: ReadonlyArray<string>
): boolean =>
  to !== undefined &&
  value === 0n &&
  receivers.includes(authorityReceiver) &&
  list.some(({ authority }) => isSame(authority, to))

// What the chain says about entries when a request arrives.

/** What is known of an entry. What is absent was not answered: it decides nothing here. */
export interface EntryFacts {
  readonly isRelayer: boolean
  /** Whether the count is above the nonce at two providers, or at the only one. */
  readonly isUsed: boolean
  /** The code of the authority. */
  readonly code?: string
  /** Code of the delegate. */
  readonly delegateCode?: string
}

const factViolation = (
  entry: SignedAuthorization,
  index: number,
  { code, delegateCode, isRelayer, isUsed }: EntryFacts
): Violation | undefined => {
  if (isRelayer) {
    return {
      field: entryField(index),
      message: "authority_is_relayer: its account is that of a relayer, whose nonces the service gives away"
    }
  }
  if (code !== undefined && isForeignCode(code)) {
    return { field: entryField(index), message: "its account has code that is no delegation: nodes skip it" }
  }
  if (isUsed) {
    const isThere = code !== undefined && isDelegated({ address: entry.address.toLowerCase() }, code)
    return {
      field: entryField(index, "nonce"),
      message: isThere
        ? "authorization_used: the delegation is there already; send the call without the list"
        : "authorization_used: the account has used the nonce; ask it for an authorization with its present one"
    }
  }
  return delegateCode !== undefined && delegateOf(delegateCode) !== undefined
    ? {
        field: entryField(index, "address"),
        message: "is itself a delegated account: each call of the account would use all of its gas"
      }
    : undefined
}

/** `facts`: of each entry, in their order. */
export const factViolations = (list: List, facts: ReadonlyArray<EntryFacts>): ReadonlyArray<Violation> =>
  ofEntries(list, (entry, index) => {
    const known = facts[index]
    return known && factViolation(entry, index, known)
  })

/** The entries with what is worth a warning. */
export const withFacts = (list: List, facts: ReadonlyArray<EntryFacts>): List =>
  list.map((entry, index) =>
    facts[index]?.delegateCode === "0x" && entry.address !== noDelegate ? { ...entry, isWithoutCode: true } : entry
  )

/** What may not be meant as it was written. */
export const warningsOf = ({ authorization_list: list = [] }: Request): ReadonlyArray<string> =>
  list.flatMap(({ chainId, isWithoutCode }, index) => [
    ...(chainId === 0 ? [`authorization ${index} has chain id 0, so that it is valid on every chain`] : []),
    ...(isWithoutCode === true ? [`the delegate of authorization ${index} had no code when it was accepted`] : [])
  ])

// Before a version is signed for the first time.

/** Whether the newest version has authorizations. */
export const isListed = (transaction: Transaction<Evm>): boolean =>
  newestRequest(transaction).authorization_list !== undefined

/** Undefined: the newest version has no list, or this poll did not ask. */
export const listStanding = (
  transaction: Transaction<Evm>,
  { authorities }: Pick<Seen, "authorities">
): ListStanding | undefined => {
  const { authorization_list: list } = newestRequest(transaction)
  return list === undefined || authorities === undefined ? undefined : standingOfList(list, authorities)
}

const figuresOf = ({ count, entry }: ListStanding) => ({
  ...(entry === undefined ? {} : { authority: entry.authority, required_nonce: entry.nonce }),
  ...(count === undefined ? {} : { count })
})

/** A cause with a code that this version writes. */
export interface EndOfList extends Cause {
  readonly code: KnownCode
}

/** Why nothing is ever signed with the list. Undefined: it may be signed, now or later. */
export const endOfList = (standing: ListStanding | undefined): EndOfList | undefined => {
  if (standing?.standing === "relayer") return { code: "authority_is_relayer", figures: figuresOf(standing) }
  return standing?.standing === "used" ? { code: "authorization_used", figures: figuresOf(standing) } : undefined
}

const waiting: Readonly<Partial<Record<ListStanding["standing"], KnownCode>>> = {
  ahead: "authorization_ahead",
  busy: "authority_busy",
  unknown: "providers_unavailable"
}

/** What the list waits for before it is signed. Undefined: nothing. */
export const waitOfList = (standing: ListStanding | undefined): Cause | undefined => {
  const code = standing && waiting[standing.standing]
  if (standing === undefined || code === undefined) return undefined
  return cause(code, code === "providers_unavailable" ? {} : figuresOf(standing))
}
