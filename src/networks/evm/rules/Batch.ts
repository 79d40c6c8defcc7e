// Many calls in one transaction of the account itself: how ERC-7821 encodes them, and which calls are allowed.
import type { Violation } from "../../../domain/request/Request.ts"
import { includes, isCallListed } from "../../core/TransactionLimits.ts"
import type { NetworkLimits } from "../../core/TransactionLimits.ts"
import type { SignedAuthorization } from "./Authorizations.ts"
import { maxDataBytes } from "./EvmNumbers.ts"

/** One call of a batch. Amounts in wei. */
export interface BatchCall {
  readonly to: string
  readonly value: bigint
  /** Absent: none. */
  readonly data?: string
}

/** Calls that one transaction has. A single one is a transaction without `calls`. */
export const batchSize = { minimum: 2, maximum: 50 } as const

/** Executors read it as the account itself (ERC-7821). */
const zeroAddress = `0x${"00".repeat(20)}`

// The encoding: `execute(bytes32 mode, bytes executionData)`, with the calls as ABI-encoded tuples of address, uint256 and bytes.

/** The first four bytes of the hash of `execute(bytes32,bytes)`. */
export const executeSelector = "0xe9ae5c53"

/** The first four bytes of the hash of `supportsExecutionMode(bytes32)`. */
export const supportsModeSelector = "0xd03c7914"

/** One batch, each failure of which reverts all of it, without further data of the executor (ERC-7821). */
export const batchMode = `01${"00".repeat(31)}`

/** Hex digits of a word of the ABI: 32 bytes. */
const wordDigits = 64

const word = (value: bigint | number): string => value.toString(16).padStart(wordDigits, "0")

const digitsOf = (hex: string): string => hex.slice(2).toLowerCase()

/** Bytes of digits of hex. */
const bytesIn = (digits: string): number => digits.length / 2

/** A length, and the bytes, filled up to whole words. */
const dynamic = (digits: string): string => {
  const padded = Math.ceil(digits.length / wordDigits) * wordDigits
  return word(bytesIn(digits)) + digits.padEnd(padded, "0")
}

/** A tuple of address, uint256 and bytes: the bytes begin behind three words. */
const tuple = ({ to, value, data = "0x" }: BatchCall): string =>
  digitsOf(to).padStart(wordDigits, "0") + word(value) + word(3 * 32) + dynamic(digitsOf(data))

/** `abi.encode(calls)`: an offset, the length, the offset of each tuple behind the length, and the tuples. */
const encodeCalls = (calls: ReadonlyArray<BatchCall>): string => {
  const tuples = calls.map(tuple)
  let offset = calls.length * 32
  const offsets = tuples.map((encoded) => {
    const here = word(offset)
    offset += bytesIn(encoded)
    return here
  })
  return word(32) + word(calls.length) + offsets.join("") + tuples.join("")
}

/** The data with which the account calls itself, so that its executor makes the calls. */
export const encodeExecute = (calls: ReadonlyArray<BatchCall>): string =>
  executeSelector + batchMode + word(2 * 32) + dynamic(encodeCalls(calls))

/** The data that asks an executor whether it takes such batches. */
export const encodeSupportsMode = supportsModeSelector + batchMode

/** Wei that all calls send. The transaction itself sends none. */
export const valueOfCalls = (calls: ReadonlyArray<BatchCall>): bigint =>
  calls.reduce((sum, { value }) => sum + value, 0n)

/** What a transaction has, as nodes and keys see it. */
export interface Wire<A = SignedAuthorization> {
  /** Absent: a creation. */
  readonly to?: string
  readonly value: bigint
  readonly data?: string
  /** Authorizations of other accounts. Absent: none. */
  readonly authorization_list?: ReadonlyArray<A>
}

interface Batched<A> {
  readonly to?: string | undefined
  readonly value: bigint
  readonly data?: string | undefined
  readonly authorization_list?: ReadonlyArray<A> | undefined
  readonly calls?: ReadonlyArray<BatchCall> | undefined
}

/** What is signed for a request: a batch is a call of the account to itself, and its values are sent by the executor. */
export const wireOf = <A = SignedAuthorization>(
  { to, value, data, authorization_list: list, calls }: Batched<A>,
  address: string
): Wire<A> =>
  calls === undefined
    ? {
        ...(to === undefined ? {} : { to }),
        value,
        ...(data === undefined ? {} : { data }),
        ...(list === undefined ? {} : { authorization_list: list })
      }
    : { to: address, value: 0n, data: encodeExecute(calls) }

// Faults of calls that are refused for every caller. `field` names the call.

const ofCall = (index: number, field: string, message: string): Violation => ({
  field: `calls.${index}.${field}`,
  message
})

const perCall = (
  calls: ReadonlyArray<BatchCall>,
  check: (call: BatchCall, index: number) => Violation | undefined
): ReadonlyArray<Violation> => calls.flatMap((call, index) => check(call, index) ?? [])

/** A call of the account to itself would pass every list: its executor makes whatever calls the data has. */
const ownReceiver = (calls: ReadonlyArray<BatchCall>, address: string): ReadonlyArray<Violation> =>
  perCall(calls, ({ to }, index) => {
    if (to.toLowerCase() === zeroAddress) {
      return ofCall(index, "to", "cannot be the zero address, which the executor reads as the account itself")
    }
    return includes("evm", [address], to)
      ? ofCall(index, "to", "cannot be the relayer's own address: calls of the account to itself cannot be nested")
      : undefined
  })

/** The whole call data is as large as that of other transactions at most. */
const tooLong = (calls: ReadonlyArray<BatchCall>): ReadonlyArray<Violation> =>
  bytesIn(digitsOf(encodeExecute(calls))) > maxDataBytes
    ? [{ field: "calls", message: `must be at most ${maxDataBytes} bytes when encoded as one call` }]
    : []

/** Fields of a single call, which a batch has none of. */
const single = ["to", "data"] as const

interface BatchBody {
  readonly calls?: ReadonlyArray<BatchCall> | undefined
  readonly to?: string | undefined
  readonly value?: bigint | undefined
  readonly data?: string | undefined
  readonly authorization_list?: unknown
}

const exclusive = (body: BatchBody): ReadonlyArray<Violation> => [
  ...single.flatMap((field) =>
    body[field] === undefined ? [] : [{ field, message: "cannot be given together with calls" }]
  ),
  ...((body.value ?? 0n) > 0n
    ? [{ field: "value", message: "cannot be given together with calls: each call has its own" }]
    : []),
  ...(body.authorization_list === undefined
    ? []
    : [{ field: "authorization_list", message: "cannot be given together with calls" }])
]

/** What is wrong with a batch as such. Empty: nothing, or the request has no calls. */
export const batchFaults = (body: BatchBody, address: string): ReadonlyArray<Violation> => {
  const { calls } = body
  return calls === undefined ? [] : [...exclusive(body), ...ownReceiver(calls, address), ...tooLong(calls)]
}

/** The lists of a relayer's policy that limit calls. Absent: no limit. */
interface Lists {
  readonly receivers?: ReadonlyArray<string>
  readonly selectors?: ReadonlyArray<string>
}

/** What the policy of the relayer forbids about one of the calls. Each call is checked as a transaction of its own. */
export const policyFaults = (
  calls: ReadonlyArray<BatchCall>,
  { receivers, selectors }: Lists
): ReadonlyArray<Violation> =>
  perCall(calls, (call, index) => {
    if (receivers !== undefined && !includes("evm", receivers, call.to)) {
      return ofCall(index, "to", "is not in whitelist_receivers of the relayer's policy")
    }
    return selectors !== undefined && !isCallListed(selectors, call)
      ? ofCall(index, "data", "calls nothing that is in whitelist_selectors of the relayer's policy")
      : undefined
  })

/** What the limits of an API key forbid: the sum of values, and each call. */
export const limitFaults = (
  calls: ReadonlyArray<BatchCall>,
  { max_value, receivers, selectors }: NetworkLimits
): ReadonlyArray<Violation> => [
  ...(max_value !== undefined && valueOfCalls(calls) > max_value
    ? [{ field: "calls", message: `must send at most ${max_value} in all, the max_value of the API key` }]
    : []),
  ...perCall(calls, (call, index) => {
    if (receivers !== undefined && !includes("evm", receivers, call.to)) {
      return ofCall(index, "to", "is not among the receivers of the API key")
    }
    return selectors !== undefined && !isCallListed(selectors, call)
      ? ofCall(index, "data", "calls nothing that is among the selectors of the API key")
      : undefined
  })
]
