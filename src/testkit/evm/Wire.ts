// Bytes of evm transactions, of the types that the service signs: signs them, and reads what was signed. The libraries are small: a test
// that imports the kit starts at once.
import { secp256k1 } from "@noble/curves/secp256k1"
import { keccak_256 } from "@noble/hashes/sha3.js"
import { listedType, signingPrefix } from "../../networks/evm/rules/Authorizations.ts"
import type { Authorization, SignedAuthorization } from "../../networks/evm/rules/Authorizations.ts"
import { tipOf, maxFeeOf } from "../../networks/evm/rules/Market.ts"
import type { Fees } from "../../networks/evm/rules/Market.ts"
import type { PoolBytes } from "../chain/Pool.ts"
import { addressOf, addressOfPoint, bytesOf, hexOf } from "../Keys.ts"

/** What is signed. `to` is absent in a creation. */
export interface Unsigned {
  readonly chainId: number
  readonly nonce: number
  readonly to?: string
  readonly value: bigint
  readonly data: string
  readonly gasLimit: bigint
  readonly fees: Fees
  /** Authorizations of EIP-7702. Absent: none, and the type is not 4. */
  readonly authorizations?: ReadonlyArray<Authorization>
}

/** A signed transaction with what nodes and pools read of it. Addresses and hashes are in lower case. */
export interface Bytes extends Unsigned, PoolBytes {
  readonly from: string
  readonly raw: Uint8Array
  readonly r: string
  readonly s: string
  readonly parity: number
}

/** A string of bytes, or a list: all that RLP knows (Ethereum Yellow Paper, appendix B). */
type Item = Uint8Array | ReadonlyArray<Item>

/** Without leading zeros, and empty for 0. */
const quantity = (value: number | bigint): Uint8Array => {
  const digits = value.toString(16)
  return BigInt(value) === 0n ? new Uint8Array() : bytesOf(digits.padStart(digits.length + (digits.length % 2), "0"))
}

const join = (parts: ReadonlyArray<Uint8Array>): Uint8Array => Uint8Array.from(Buffer.concat(parts))

const withLength = (offset: number, content: Uint8Array): Uint8Array => {
  if (content.length < 56) return join([Uint8Array.of(offset + content.length), content])
  const length = quantity(content.length)
  return join([Uint8Array.of(offset + 55 + length.length), length, content])
}

const encode = (item: Item): Uint8Array => {
  if (!(item instanceof Uint8Array)) return withLength(0xc0, join(item.map(encode)))
  return item.length === 1 && (item[0] ?? 0) < 0x80 ? item : withLength(0x80, item)
}

const malformed = () => new Error("the raw transaction is no RLP of a transaction that the service signs")

/** The item at the start of the bytes, and what follows it. */
const decode = (bytes: Uint8Array): readonly [Item, Uint8Array] => {
  const first = bytes[0] ?? 0
  if (first < 0x80) return [bytes.subarray(0, 1), bytes.subarray(1)]
  const isList = first >= 0xc0
  const short = first - (isList ? 0xc0 : 0x80)
  const extra = Math.max(short - 55, 0)
  const length = short < 56 ? short : Number(numberOf(bytes.subarray(1, 1 + extra)))
  const end = 1 + extra + length
  if (bytes.length < end) throw malformed()
  const content = bytes.subarray(1 + extra, end)
  if (!isList) return [content, bytes.subarray(end)]
  const items: Array<Item> = []
  for (let left = content; left.length > 0;) {
    const [item, rest] = decode(left)
    items.push(item)
    left = rest
  }
  return [items, bytes.subarray(end)]
}

const numberOf = (bytes: Uint8Array): bigint => (bytes.length === 0 ? 0n : BigInt(hexOf(bytes)))

/** Bytes before the signature, and the fields that precede it. */
const unsignedFields = (unsigned: Unsigned): ReadonlyArray<Item> => {
  const { chainId, nonce, to, value, data, gasLimit, fees, authorizations } = unsigned
  const receiver = bytesOf(to ?? "")
  const call = [quantity(gasLimit), receiver, quantity(value), bytesOf(data)]
  if (fees.type === "legacy") return [quantity(nonce), quantity(fees.gasPrice), ...call]
  const fields = [quantity(chainId), quantity(nonce), quantity(fees.tip), quantity(fees.maxFee), ...call, []]
  return authorizations === undefined ? fields : [...fields, authorizations.map(entryFields)]
}

const signedByAuthority = ({ chainId, address, nonce }: Pick<Authorization, "chainId" | "address" | "nonce">) => [
  quantity(chainId),
  bytesOf(address),
  quantity(nonce)
]

const entryFields = (entry: Authorization): ReadonlyArray<Item> => [
  ...signedByAuthority(entry),
  quantity(entry.yParity),
  quantity(BigInt(entry.r)),
  quantity(BigInt(entry.s))
]

/** The type of a transaction that is not legacy. */
const typeOf = ({ authorizations }: Pick<Unsigned, "authorizations">): number =>
  authorizations === undefined ? 2 : listedType

const typed = (unsigned: Unsigned, item: Item): Uint8Array =>
  unsigned.fees.type === "legacy" ? encode(item) : join([Uint8Array.of(typeOf(unsigned)), encode(item)])

type Delegating = Pick<Authorization, "chainId" | "address" | "nonce">

/** The 32 bytes that an authority signs (EIP-7702). */
const authorizationDigest = (delegating: Delegating): Uint8Array =>
  keccak_256(join([bytesOf(signingPrefix), encode(signedByAuthority(delegating))]))

/** An authorization of the account with this key. */
export const authorized = (delegating: Delegating, key: Uint8Array): SignedAuthorization => {
  const { r, s, recovery } = secp256k1.sign(authorizationDigest(delegating), key)
  return { ...delegating, yParity: recovery === 1 ? 1 : 0, r: word(r), s: word(s), authority: addressOf(key) }
}

/** The account whose key has signed the authorization. Throws if no key has. */
export const authorityOf = (entry: Authorization): string => {
  const signature = new secp256k1.Signature(BigInt(entry.r), BigInt(entry.s)).addRecoveryBit(entry.yParity)
  return addressOfPoint(signature.recoverPublicKey(authorizationDigest(entry)).toRawBytes(false))
}

/** The 32 bytes that the key signs. EIP-155 puts the chain id into a legacy transaction. */
const digestOf = (unsigned: Unsigned): Uint8Array => {
  const fields = unsignedFields(unsigned)
  const legacy = [...fields, quantity(unsigned.chainId), quantity(0), quantity(0)]
  return keccak_256(typed(unsigned, unsigned.fees.type === "legacy" ? legacy : fields))
}

const priced = (unsigned: Unsigned) => {
  const maxFee = maxFeeOf(unsigned.fees)
  return { maxFee, tip: tipOf(unsigned.fees), cost: unsigned.value + unsigned.gasLimit * maxFee }
}

const word = (value: bigint): string => `0x${value.toString(16).padStart(64, "0")}`

export const sealed = (unsigned: Unsigned, key: Uint8Array): Bytes => {
  const { r, s, recovery } = secp256k1.sign(digestOf(unsigned), key)
  const { chainId, fees } = unsigned
  const v = fees.type === "legacy" ? 35 + 2 * chainId + recovery : recovery
  const raw = typed(unsigned, [...unsignedFields(unsigned), quantity(v), quantity(r), quantity(s)])
  const signature = { r: word(r), s: word(s), parity: recovery }
  return { ...unsigned, ...priced(unsigned), ...signature, from: addressOf(key), raw, hash: hexOf(keccak_256(raw)) }
}

const callOf = ([gas, to, value, data]: ReadonlyArray<Uint8Array>) => ({
  gasLimit: numberOf(gas ?? new Uint8Array()),
  value: numberOf(value ?? new Uint8Array()),
  data: hexOf(data ?? new Uint8Array()),
  ...(to === undefined || to.length === 0 ? {} : { to: hexOf(to) })
})

const legacyOf = ([nonce, gasPrice, ...rest]: ReadonlyArray<bigint>, call: ReturnType<typeof callOf>) => {
  const v = Number(rest[4] ?? 0n)
  const fees: Fees = { type: "legacy", gasPrice: gasPrice ?? 0n }
  return { unsigned: { chainId: Math.floor((v - 35) / 2), nonce: Number(nonce), ...call, fees }, parity: (v - 35) % 2 }
}

const dynamicOf = (numbers: ReadonlyArray<bigint>, call: ReturnType<typeof callOf>) => {
  const [chainId = 0n, nonce = 0n, tip = 0n, maxFee = 0n] = numbers
  const fees: Fees = { type: "eip1559", maxFee, tip }
  return {
    unsigned: { chainId: Number(chainId), nonce: Number(nonce), ...call, fees },
    parity: Number(numbers.at(-3) ?? 0n)
  }
}

const entryOf = (item: Item): Authorization => {
  if (item instanceof Uint8Array) throw malformed()
  const strings = item.map((part) => (part instanceof Uint8Array ? part : new Uint8Array()))
  const [chainId = 0n, , nonce = 0n, parity = 0n, r = 0n, s = 0n] = strings.map(numberOf)
  const address = hexOf(strings[1] ?? new Uint8Array())
  return {
    chainId: Number(chainId),
    address,
    nonce: Number(nonce),
    yParity: parity === 1n ? 1 : 0,
    r: word(r),
    s: word(s)
  }
}

/** Throws if the bytes are no signed transaction of type 2, of type 4 or legacy. */
export const opened = (raw: Uint8Array): Bytes => {
  const isListed = raw[0] === listedType
  const isDynamic = raw[0] === 2 || isListed
  if (!isDynamic && (raw[0] ?? 0) < 0xc0) throw malformed()
  const [list] = decode(isDynamic ? raw.subarray(1) : raw)
  if (list instanceof Uint8Array) throw malformed()
  const strings = list.map((item) => (item instanceof Uint8Array ? item : new Uint8Array()))
  const numbers = strings.map(numberOf)
  const entries = isListed ? list[9] : undefined
  if (entries instanceof Uint8Array) throw malformed()
  const authorizations = entries === undefined ? {} : { authorizations: entries.map(entryOf) }
  const { unsigned: read, parity } = isDynamic
    ? dynamicOf(numbers, callOf(strings.slice(4, 8)))
    : legacyOf(numbers, callOf(strings.slice(2, 6)))
  const unsigned: Unsigned = { ...read, ...authorizations }
  const [r = 0n, s = 0n] = numbers.slice(-2)
  const point = new secp256k1.Signature(r, s).addRecoveryBit(parity).recoverPublicKey(digestOf(unsigned))
  const from = addressOfPoint(point.toRawBytes(false))
  return { ...unsigned, ...priced(unsigned), r: word(r), s: word(s), parity, from, raw, hash: hexOf(keccak_256(raw)) }
}
