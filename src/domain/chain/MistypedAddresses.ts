// Addresses that have the form of their network type and are none: a digit of them was mistyped. Stored ones stay readable, so that
// the schemas of policies and limits do not check them: the services do when they accept a request.
import { keccak_256 } from "@noble/hashes/sha3.js"
import type { NetworkType } from "../network/Network.ts"
import type { Violation } from "../request/Request.ts"
import { parseAddress } from "./StrKey.ts"

// The checksum of EIP-55: the case of the letters of an evm address, by keccak-256 of its digits.

const encoder = new TextEncoder()

/** The address with the case that EIP-55 gives its letters. Sends and changes of policies wait for it: most of its time is keccak-256. */
export const toChecksum = (address: string): string => {
  const digits = address.slice(2).toLowerCase()
  const upper = digits.toUpperCase()
  const hash = keccak_256(encoder.encode(digits))
  let cased = "0x"
  for (let index = 0; index < digits.length; index++) {
    const half = (hash[index >> 1] ?? 0) >> (index % 2 === 0 ? 4 : 0)
    cased += ((half & 8) === 0 ? digits : upper)[index]
  }
  return cased
}

/** Letters in one case are no checksum. */
const isMixedCase = (address: string): boolean => /[a-f]/.test(address) && /[A-F]/.test(address.slice(2))

/** Whether an address claims a checksum that is not its own. */
const hasWrongChecksum = (address: string): boolean => isMixedCase(address) && toChecksum(address) !== address

/** Bytes of a key of solana. */
const keyBytes = 32

const base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

/** Whether a text of base58 is the form of 32 bytes. Each zero byte in front is a digit 1. */
const isKey = (text: string): boolean => {
  const [ones = ""] = /^1*/u.exec(text) ?? []
  let value = 0n
  for (const digit of text) value = value * 58n + BigInt(base58.indexOf(digit))
  let bytes = ones.length
  for (; value > 0n; value >>= 8n) bytes += 1
  return bytes === keyBytes
}

const findFault = (type: NetworkType, address: string): string | undefined => {
  switch (type) {
    case "evm":
      return hasWrongChecksum(address)
        ? "has a wrong checksum (EIP-55); check it, or write it in lower case"
        : undefined
    case "solana":
      return isKey(address) ? undefined : "is no address: it is not the base58 form of 32 bytes; check it"
    case "stellar":
      return parseAddress(address) === undefined ? "has a wrong checksum (StrKey); check it" : undefined
  }
}

/**
 * Addresses that were found to have no fault. Sends and policies name the same contracts and receivers again, and the checksum of an evm address
 * takes 10 to 16 µs.
 */
const faultless: Readonly<Record<NetworkType, Set<string>>> = { evm: new Set(), solana: new Set(), stellar: new Set() }

/** Addresses of each type: about 100 kB. */
const maxFaultless = 1000

/** What is wrong with an address that has the form of its network type. Undefined: nothing that can be seen. */
export const addressFault = (type: NetworkType, address: string): string | undefined => {
  const known = faultless[type]
  if (known.has(address)) return undefined
  const found = findFault(type, address)
  if (found === undefined) {
    if (known.size >= maxFaultless) known.clear()
    known.add(address)
  }
  return found
}

const fault = (type: NetworkType, field: string, address: string): ReadonlyArray<Violation> => {
  const message = addressFault(type, address)
  return message === undefined ? [] : [{ field, message }]
}

/** Lists of addresses, or of texts that name one. */
export interface Mistypable {
  readonly whitelist_receivers?: ReadonlyArray<string> | null | undefined
  readonly whitelist_selectors?: ReadonlyArray<string> | null | undefined
  readonly allowed_delegates?: ReadonlyArray<string> | null | undefined
  readonly receivers?: ReadonlyArray<string> | null | undefined
  readonly selectors?: ReadonlyArray<string> | null | undefined
  readonly allowed_programs?: ReadonlyArray<string> | null | undefined
  readonly allowed_accounts?: ReadonlyArray<string> | null | undefined
  readonly disallowed_accounts?: ReadonlyArray<string> | null | undefined
  readonly authority_programs?: ReadonlyArray<string> | null | undefined
  readonly allowed_tokens?: ReadonlyArray<{ readonly mint?: string; readonly asset?: string }> | null | undefined
}

const lists = [
  "whitelist_receivers",
  "whitelist_selectors",
  "allowed_delegates",
  "receivers",
  "selectors",
  "allowed_programs",
  "allowed_accounts",
  "disallowed_accounts",
  "authority_programs"
] as const

/** Each type has texts beside addresses: `contract_creation`, `CONTRACT:SELECTOR`, `native`, and `CODE:ISSUER`. */
const addressIn = (type: NetworkType, text: string): string | undefined => {
  if (type === "solana") return text
  if (type === "evm") return /^0x[0-9a-fA-F]{40}/u.exec(text)?.[0]
  return /[GC][A-Z2-7]{55}$/u.exec(text)?.[0]
}

/** Mistyped addresses in a policy, or in the limits of an API key for a network type. `path`: of these, with a dot at its end. */
export const mistypedIn = (type: NetworkType, named: Mistypable, path: string): ReadonlyArray<Violation> => {
  const at = (field: string, text: string | undefined) => {
    const address = text === undefined ? undefined : addressIn(type, text)
    return address === undefined ? [] : fault(type, `${path}${field}`, address)
  }
  return [
    ...lists.flatMap((list) => (named[list] ?? []).flatMap((text, index) => at(`${list}.${index}`, text))),
    ...(named.allowed_tokens ?? []).flatMap(({ asset, mint }, index) => [
      ...at(`allowed_tokens.${index}.mint`, mint),
      ...at(`allowed_tokens.${index}.asset`, asset)
    ])
  ]
}

export interface Limited extends Mistypable {
  readonly solana?: Mistypable | null | undefined
  readonly stellar?: Mistypable | null | undefined
}

/** Mistyped addresses in what an API key may send. */
export const mistypedLimits = (limits: Limited | null | undefined): ReadonlyArray<Violation> => [
  ...mistypedIn("evm", limits ?? {}, "transaction_limits."),
  ...mistypedIn("solana", limits?.solana ?? {}, "transaction_limits.solana."),
  ...mistypedIn("stellar", limits?.stellar ?? {}, "transaction_limits.stellar.")
]

/** The addresses that a network names. */
export const mistypedInNetwork = ({ fee_forwarder }: { readonly fee_forwarder?: unknown }): ReadonlyArray<Violation> =>
  typeof fee_forwarder === "string" ? fault("stellar", "fee_forwarder", fee_forwarder) : []
