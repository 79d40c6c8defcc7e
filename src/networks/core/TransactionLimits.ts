// What an API key may send on networks of each type, in addition to the policies of relayers, with the errors of its limits. Amounts in
// the smallest unit.
import { Result, Schema } from "effect"
import {
  canonical,
  CheckedEvmAddress,
  CheckedEvmCall,
  CheckedSolanaAddress,
  CheckedStellarAddress,
  DecimalUint64,
  units,
  Wei
} from "../../domain/chain/Amount.ts"
import { NetworkType } from "../../domain/network/Network.ts"
import { contractCreation } from "../../domain/relayer/Policy.ts"
import { onlyListed, upperLimit } from "../../domain/request/Change.ts"
import type { Violation } from "../../domain/request/Request.ts"
import * as Shown from "../../domain/request/Shown.ts"
import { list, maybe } from "../../domain/request/Shown.ts"

const EvmReceiver = Schema.Union([CheckedEvmAddress, Schema.Literal(contractCreation)])

const descendantsCount = "Transactions of keys that this key created count as well."

const limitsOfType = <A extends Schema.Constraint>(
  identifier: string,
  type: "solana" | "stellar",
  Address: A,
  receiver: A["Encoded"]
) =>
  Schema.Struct({
    max_value: maybe(DecimalUint64, {
      change: upperLimit,
      description: `Most ${units[type]} that one transaction may send.`,
      examples: ["2000000000"],
      unit: "native"
    }),
    max_fee_per_day: maybe(DecimalUint64, {
      change: upperLimit,
      description: `Most ${units[type]} that transactions may pay in fees within 24 hours. ${descendantsCount}`,
      examples: ["50000000"],
      unit: "native"
    }),
    receivers: maybe(list(Address), {
      change: onlyListed,
      description: "Receivers that it may send to. Upper and lower case differ. If absent, all.",
      examples: [[receiver]]
    })
  }).annotate({ identifier, description: `What an API key may send on ${type} networks.` })

const SolanaLimits = limitsOfType(
  "SolanaTransactionLimits",
  "solana",
  CheckedSolanaAddress,
  "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"
)

const StellarLimits = limitsOfType(
  "StellarTransactionLimits",
  "stellar",
  CheckedStellarAddress,
  "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"
)

const ofType = (type: string) =>
  `What it may send on ${type} networks. If absent, nothing; if empty, everything that policies allow.`

export const TransactionLimits = Schema.Struct({
  max_value: maybe(Wei, {
    change: upperLimit,
    description: "Most wei that one transaction may send on evm networks.",
    examples: ["1000000000000000000"],
    unit: "native"
  }),
  max_fee_per_day: maybe(Wei, {
    change: upperLimit,
    description: `Most wei that transactions may pay in fees on evm networks within 24 hours. ${descendantsCount}`,
    examples: ["50000000000000000"],
    unit: "native"
  }),
  receivers: maybe(list(EvmReceiver), {
    change: onlyListed,
    description: "Receivers that it may send to on evm networks; `contract_creation` allows creations. If absent, all.",
    examples: [["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"]]
  }),
  selectors: maybe(list(CheckedEvmCall), {
    change: onlyListed,
    description:
      "The only calls that it may make on evm networks, besides `receivers`: each a contract, a colon, and the selector of a function, or `0x` for a transfer without data. If it is there, nothing else is sent: no creations, and no data of one to three bytes, which calls no function. If absent, all calls.",
    examples: [["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed:0xa9059cbb"]]
  }),
  solana: maybe(SolanaLimits, {
    description: ofType("solana"),
    examples: [{ max_value: "2000000000", max_fee_per_day: "50000000" }]
  }),
  stellar: maybe(StellarLimits, {
    description: ofType("stellar"),
    examples: [{ max_value: "1000000000", max_fee_per_day: "10000000" }]
  })
}).annotate({
  identifier: "TransactionLimits",
  description:
    "What an API key may send, per network type. `max_value`, `max_fee_per_day`, `receivers` and `selectors` are those of evm: if all four are absent, the key may send nothing on evm networks."
})
export type TransactionLimits = typeof TransactionLimits.Type

/** The limits of one network type. Absent: no limit. */
export interface NetworkLimits {
  readonly max_value?: bigint
  readonly max_fee_per_day?: bigint
  readonly receivers?: ReadonlyArray<string>
  /** On evm only. */
  readonly selectors?: ReadonlyArray<string>
}

/** The transaction is beyond what the API key may send. */
export class TransactionLimitExceeded extends Schema.TaggedError<TransactionLimitExceeded>()(
  "TransactionLimitExceeded",
  {
    /** Names the field and the limit. */
    error: Shown.Words
  }
) {
  override readonly message = this.error

  /** A key with limits may not change what its limits are compared with, such as the providers that report what was paid. */
  static ofChange(field: string): TransactionLimitExceeded {
    return TransactionLimitExceeded.of({
      field,
      message: "an API key with transaction_limits may not change it; use a key without transaction_limits"
    })
  }

  /** `prefix`: path of the request in the body. */
  static of({ field, message }: Violation, prefix = ""): TransactionLimitExceeded {
    return new TransactionLimitExceeded({ error: `${prefix}${field}: ${message}` })
  }
}

/** Undefined: the limits have none of this network type. */
const ofNetworkType = (limits: TransactionLimits, type: NetworkType): NetworkLimits | undefined => {
  if (type !== "evm") return limits[type]
  const { max_value, max_fee_per_day, receivers, selectors } = limits
  return [max_value, max_fee_per_day, receivers, selectors].every((limit) => limit === undefined) ? undefined : limits
}

/** The member of an API key that has the limits of a network type. */
const memberOf = (type: NetworkType): string => (type === "evm" ? "transaction_limits" : `transaction_limits.${type}`)

const absence: Readonly<Record<NetworkType, string>> = {
  evm: "has none of max_value, max_fee_per_day, receivers and selectors",
  solana: "is absent",
  stellar: "is absent"
}

/**
 * Which limits of a key apply to networks of a type: the only way to read them, so that no limit is compared in the unit of
 * another network type. Undefined: the key has no limits. Fails if it has limits, but none of this type: it may not send,
 * replace or sign there.
 */
export const limitsFor = (
  limits: TransactionLimits | undefined,
  type: NetworkType
): Result.Result<NetworkLimits | undefined, Violation> => {
  if (limits === undefined) return Result.succeed(undefined)
  const found = ofNetworkType(limits, type)
  return found === undefined
    ? Result.fail({
        field: memberOf(type),
        message: `${absence[type]}, so the API key may not send, replace or sign on ${type} networks`
      })
    : Result.succeed(found)
}

/** The limits of fees per day, of each network type that has one. */
export const feeLimitsOf = (limits: TransactionLimits | undefined) =>
  NetworkType.literals.flatMap((type) => {
    const maximum = limits === undefined ? undefined : ofNetworkType(limits, type)?.max_fee_per_day
    return maximum === undefined ? [] : [{ type, maximum }]
  })

/** Whether an address stands in a list, compared by the rule of its network type. */
export const includes = (type: NetworkType, addresses: ReadonlyArray<string>, address: string): boolean => {
  const wanted = canonical(type, address)
  return addresses.some((one) => canonical(type, one) === wanted)
}

/** What a call sends to whom. Absent receiver: a creation. */
export interface Call {
  readonly to?: string | undefined
  /** Absent: none. */
  readonly data?: string | undefined
}

/** Characters of `0x` and the four bytes that select a function. */
const selectorLength = 10

/**
 * Whether the call stands in a list of selectors. Entries have four bytes or none, so none names data of one to three bytes, which selects
 * no function but runs the fallback of the contract, or a creation, whose data is code.
 */
export const isCallListed = (selectors: ReadonlyArray<string>, { to, data = "0x" }: Call): boolean => {
  if (to === undefined) return false
  const wanted = `${to}:${data.slice(0, selectorLength)}`.toLowerCase()
  return selectors.some((one) => one.toLowerCase() === wanted)
}

/** What a request sends, and the field of the request that names each receiver. */
export interface Sent {
  readonly value: bigint
  readonly receivers: ReadonlyArray<{ readonly field: string; readonly address: string }>
  /** Absent: the network type has no selectors. */
  readonly call?: Call
}

/** What a request exceeds. Fees per day are summed by the ledger. */
export const exceeded = (
  type: NetworkType,
  sent: Sent,
  { max_value, receivers, selectors }: NetworkLimits
): Violation | undefined => {
  if (max_value !== undefined && sent.value > max_value) {
    return { field: "value", message: `must be at most ${max_value}, the max_value of the API key` }
  }
  const unlisted = sent.receivers.find(({ address }) => receivers !== undefined && !includes(type, receivers, address))
  if (unlisted !== undefined) return { field: unlisted.field, message: "is not among the receivers of the API key" }
  return selectors !== undefined && (sent.call === undefined || !isCallListed(selectors, sent.call))
    ? { field: "data", message: "calls nothing that is among the selectors of the API key" }
    : undefined
}

const isAtMost = (limit: bigint | undefined, parent: bigint | undefined): boolean =>
  parent === undefined || (limit !== undefined && limit <= parent)

const isWithin = (type: NetworkType, limits: NetworkLimits, parent: NetworkLimits): boolean => {
  const { receivers } = parent
  const selectors = parent.selectors?.map((one) => one.toLowerCase())
  return (
    isAtMost(limits.max_value, parent.max_value) &&
    isAtMost(limits.max_fee_per_day, parent.max_fee_per_day) &&
    (receivers === undefined ||
      (limits.receivers?.every((receiver) => includes(type, receivers, receiver)) ?? false)) &&
    (selectors === undefined || (limits.selectors?.every((one) => selectors.includes(one.toLowerCase())) ?? false))
  )
}

/** Which limits of a derived key allow more than those of its creator. Empty: none. */
export const widened = (limits: TransactionLimits, parent: TransactionLimits): ReadonlyArray<Violation> =>
  NetworkType.literals.flatMap((type) => {
    const own = ofNetworkType(limits, type)
    const most = ofNetworkType(parent, type)
    if (own === undefined || (most !== undefined && isWithin(type, own, most))) return []
    const message =
      most === undefined
        ? `the creating key has no limits for ${type} networks, so it may not send there`
        : "must be within the limits of the creating key"
    return [{ field: memberOf(type), message }]
  })

// Why the ledger does not accept a transaction, besides conflicts and invalid requests.

/** The operator has paused the relayer: nothing new is sent or signed. */
export class RelayerPaused extends Schema.TaggedError<RelayerPaused>()("RelayerPaused", {}) {
  override readonly message = "the relayer is paused; resume it first"
}

/** The fees of an API key would exceed its `max_fee_per_day`. Amounts in the smallest unit of the network. */
export class FeeLimitExceeded extends Schema.TaggedError<FeeLimitExceeded>()("FeeLimitExceeded", {
  /** Id of the API key that has the limit: the caller's, or of a key that it descends from. */
  keyId: Shown.Id,
  limit: Shown.Digits,
  /** What the last 24 hours have cost, and what open transactions can cost. */
  used: Shown.Digits
}) {
  override readonly message = `max_fee_per_day is ${this.limit}, and ${this.used} of it is used or reserved`
}
