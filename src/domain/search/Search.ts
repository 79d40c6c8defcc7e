// The texts that a person can search for: the forms of ids, hashes, addresses and sequences. And the results of a search.
import { Schema } from "effect"
import { maxSequence } from "../../networks/core/TransactionRequests.ts"
import { field, shown } from "../request/Field.ts"
import { canonicalHash } from "../chain/Amount.ts"
import * as Shown from "../request/Shown.ts"
import { text } from "../request/Shown.ts"

/** Characters. Longer than any hash, address or URL of an explorer. */
export const longestSearch = 512

export const SearchQuery = {
  q: field(
    text(1, longestSearch),
    "An id, a hash, a signature, an address, the URL of an explorer that ends with one of them, an `external_id`, the name of a relayer, a relayer and a nonce or sequence such as `payouts#42`, or the `x-request-id` of a request, for what it has changed. Spaces around it have no meaning. Hexadecimal digits are read in any case, base58 and addresses of stellar exactly.",
    "order-1234"
  )
}
export interface SearchQuery {
  readonly q: string
}

/** Items of a response. */
export const maxFound = 20

export const FoundItem = Schema.Struct({
  kind: field(
    Schema.Literals(["transaction", "relayer", "signer", "notification", "network", "key"]),
    "Kind of the resource.",
    "transaction"
  ),
  id: field(Shown.Id, "Identifier of the resource.", "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"),
  relayer_id: shown(Shown.Id, "Relayer of the transaction.", "payouts"),
  label: field(Shown.Words, "For people: the `external_id` of a transaction, a name, or the id.", "order-1234"),
  state: shown(Shown.Words, "State of the transaction.", "confirmed")
}).annotate({ identifier: "FoundItem", description: "A resource that a search has found." })
export type FoundItem = typeof FoundItem.Type

/** What to look for. A text can have several forms at once; each is looked up in its own index. */
export interface Terms {
  /** The text itself: an id, a name or an `external_id`. */
  readonly text: string
  /** Ids of transactions. */
  readonly uuid?: string
  /** Hashes of attempts as they are stored. */
  readonly hashes: ReadonlyArray<string>
  /** Addresses of relayers as they are stored. */
  readonly address?: string
  /** The id of a request. */
  readonly requestId?: string
  /** The nonce or sequence of a transaction of a relayer. */
  readonly place?: { readonly relayerId: string; readonly sequence: bigint }
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const bareHex = /^[0-9a-f]{64}$/i
const hash = /^((0x)?[0-9a-f]{64})$/i
const signature = /^[1-9A-HJ-NP-Za-km-z]{65,88}$/
const evmAddress = /^0x[0-9a-f]{40}$/i
const place = /^([A-Za-z0-9_-]{1,36})(?:\s*#\s*|\s+)(\d{1,19})$/
const otherAddress = /^([1-9A-HJ-NP-Za-km-z]{32,44}|G[A-Z2-7]{55})$/

/** The last part of the path of an explorer's URL. */
const lastPart = (url: string): string =>
  URL.parse(url)
    ?.pathname.split("/")
    .findLast((part) => part !== "") ?? url

const hashesOf = (wanted: string): ReadonlyArray<string> => {
  if (signature.test(wanted) && !hash.test(wanted)) return [wanted]
  if (!hash.test(wanted)) return []
  // Without 0x it is a hash of stellar, or one of evm that lost its prefix.
  const canonical = canonicalHash(wanted)
  return bareHex.test(wanted) ? [canonical, `0x${canonical}`] : [canonical]
}

const addressOf = (wanted: string) => {
  if (evmAddress.test(wanted)) return { address: wanted.toLowerCase() }
  return otherAddress.test(wanted) ? { address: wanted } : {}
}

/** The ids of requests that the service takes from callers. */
const requestId = /^[A-Za-z0-9._:-]{1,128}$/

const placeOf = (wanted: string) => {
  const [, relayerId, digits] = place.exec(wanted) ?? []
  if (relayerId === undefined || digits === undefined) return {}
  const sequence = BigInt(digits)
  return sequence > maxSequence ? {} : { place: { relayerId, sequence } }
}

/** Empty text: there is nothing to look for. */
export const termsOf = (given: string): Terms => {
  const trimmed = given.trim()
  const wanted = /^https?:\/\//i.test(trimmed) ? lastPart(trimmed) : trimmed
  return {
    text: wanted,
    ...(uuid.test(wanted) ? { uuid: wanted.toLowerCase() } : {}),
    hashes: hashesOf(wanted),
    ...addressOf(wanted),
    ...placeOf(wanted),
    ...(requestId.test(wanted) ? { requestId: wanted } : {})
  }
}
