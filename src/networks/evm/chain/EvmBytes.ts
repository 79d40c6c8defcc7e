// Bytes of evm transactions: what is signed, what is sent, and who signed a transaction of a block, as nodes return it.
// viem takes 15 MB and is loaded when the first transaction is signed.
import { Effect, Option, Schema } from "effect"
import type { TransactionSerializable } from "viem"
import type { Authorization as ListEntry } from "../rules/Authorizations.ts"
import { signingPrefix } from "../rules/Authorizations.ts"
import type * as Viem from "viem/utils"
import type { Fees } from "../rules/Market.ts"

// A signed transaction as nodes return it, in the form in which its bytes can be made again.

const HexText = Schema.TemplateLiteral(["0x", Schema.String])
const optionalKey = Schema.optionalKey

const Access = Schema.Struct({ address: HexText, storageKeys: Schema.Array(HexText) })

const Authorization = Schema.Struct({
  chainId: HexText,
  address: HexText,
  nonce: HexText,
  yParity: optionalKey(HexText),
  v: optionalKey(HexText),
  r: HexText,
  s: HexText
})

const SignedFields = Schema.Struct({
  hash: HexText,
  type: optionalKey(HexText),
  nonce: HexText,
  to: Schema.NullOr(HexText),
  value: HexText,
  input: HexText,
  gas: HexText,
  gasPrice: optionalKey(Schema.NullOr(HexText)),
  maxFeePerGas: optionalKey(Schema.NullOr(HexText)),
  maxPriorityFeePerGas: optionalKey(Schema.NullOr(HexText)),
  chainId: optionalKey(Schema.NullOr(HexText)),
  accessList: optionalKey(Schema.NullOr(Schema.Array(Access))),
  authorizationList: optionalKey(Schema.NullOr(Schema.Array(Authorization))),
  v: optionalKey(HexText),
  yParity: optionalKey(HexText),
  r: HexText,
  s: HexText
})
type SignedFields = typeof SignedFields.Type

const decodeFields = Schema.decodeUnknownOption(SignedFields)

export interface SignedTransaction {
  readonly hash: string
  readonly transaction: TransactionSerializable
  readonly signature: {
    readonly r: `0x${string}`
    readonly s: `0x${string}`
    readonly yParity: number
    readonly v?: bigint
  }
}

const big = (hex: string | null | undefined): bigint => BigInt(hex || "0x0")

const commonOf = (fields: SignedFields) => ({
  nonce: Number(big(fields.nonce)),
  value: big(fields.value),
  gas: big(fields.gas),
  data: fields.input,
  ...(fields.to === null ? {} : { to: fields.to })
})

const dynamicOf = (fields: SignedFields) => ({
  ...commonOf(fields),
  chainId: Number(big(fields.chainId)),
  accessList: (fields.accessList ?? []).map(({ address, storageKeys }) => ({ address, storageKeys })),
  maxFeePerGas: big(fields.maxFeePerGas),
  maxPriorityFeePerGas: big(fields.maxPriorityFeePerGas)
})

/** EIP-155 puts the chain id into `v`: 35 + 2 × id + parity. Without it, `v` is 27 or 28. */
const legacyOf = (fields: SignedFields): SignedTransaction => {
  const v = big(fields.v)
  const chain = v >= 35n ? { chainId: Number((v - 35n) / 2n) } : {}
  const yParity = Number(v >= 35n ? (v - 35n) % 2n : v - 27n)
  return {
    hash: fields.hash.toLowerCase(),
    transaction: { ...commonOf(fields), ...chain, type: "legacy", gasPrice: big(fields.gasPrice) },
    signature: { r: fields.r, s: fields.s, yParity, v }
  }
}

const transactionOf = (fields: SignedFields): TransactionSerializable | undefined => {
  switch (Number(big(fields.type))) {
    case 1: {
      const { maxFeePerGas: _, maxPriorityFeePerGas: __, ...rest } = dynamicOf(fields)
      return { ...rest, type: "eip2930", gasPrice: big(fields.gasPrice) }
    }
    case 2:
      return { ...dynamicOf(fields), type: "eip1559" }
    case 4:
      return {
        ...dynamicOf(fields),
        type: "eip7702",
        authorizationList: (fields.authorizationList ?? []).map(({ chainId, address, nonce, yParity, v, r, s }) => ({
          address,
          chainId: Number(big(chainId)),
          nonce: Number(big(nonce)),
          yParity: Number(big(yParity ?? v)),
          r,
          s
        }))
      }
    default:
      return undefined
  }
}

/** Undefined: a type that wallets do not send from an account like ours, or fields that are missing. */
export const parseSignedTransaction = (value: unknown): SignedTransaction | undefined => {
  const fields = Option.getOrUndefined(decodeFields(value))
  if (fields === undefined) return undefined
  if (big(fields.type) === 0n) return legacyOf(fields)
  const transaction = transactionOf(fields)
  const yParity = Number(big(fields.yParity ?? fields.v))
  const hash = fields.hash.toLowerCase()
  return transaction && { hash, transaction, signature: { r: fields.r, s: fields.s, yParity } }
}

type Hex = `0x${string}`

/** A transaction that is not signed yet. */
export interface Unsigned {
  readonly chainId: number
  readonly nonce: number
  /** Absent: a creation. */
  readonly to?: string
  readonly value: bigint
  readonly data?: string
  readonly gasLimit: bigint
  readonly fees: Fees
  /** Authorizations of EIP-7702. Present: the transaction has type 4, a receiver and EIP-1559 fees. */
  readonly authorizations?: ReadonlyArray<ListEntry>
}

export interface SealedTransaction {
  readonly hash: string
  readonly raw: Uint8Array
}

/** What viem exports. Only the loader has its value. */
type Library = typeof Viem

let loaded: Library | undefined

const load = Effect.map(
  Effect.promise((): Promise<Library> => import("viem/utils")),
  (library) => (loaded = library)
)

/** Each signature uses it several times, and a second `import` resolves the name of the package again: 5 to 25 µs. */
export const library = Effect.suspend(() => (loaded === undefined ? load : Effect.succeed(loaded)))

const hexOf = (text: string): Hex => `0x${text.replace(/^0x/i, "")}`
const hexOfBytes = (bytes: Uint8Array): Hex => `0x${Buffer.from(bytes).toString("hex")}`

const priceOf = (fees: Fees) =>
  fees.type === "legacy"
    ? ({ type: "legacy", gasPrice: fees.gasPrice } as const)
    : ({ type: "eip1559", maxFeePerGas: fees.maxFee, maxPriorityFeePerGas: fees.tip } as const)

const listed = (entries: ReadonlyArray<ListEntry>, fees: Fees) => {
  if (fees.type === "legacy") throw new Error("a transaction with authorizations has no gas price")
  const { maxFee: maxFeePerGas, tip: maxPriorityFeePerGas } = fees
  const authorizationList = entries.map(({ chainId, address, nonce, yParity, r, s }) => ({
    chainId,
    address: hexOf(address),
    nonce,
    yParity,
    r: hexOf(r),
    s: hexOf(s)
  }))
  return { type: "eip7702", maxFeePerGas, maxPriorityFeePerGas, authorizationList } as const
}

const serializable = ({
  chainId,
  nonce,
  to,
  value,
  data,
  gasLimit,
  fees,
  authorizations
}: Unsigned): TransactionSerializable => ({
  ...(authorizations === undefined ? priceOf(fees) : listed(authorizations, fees)),
  chainId,
  nonce,
  value,
  gas: gasLimit,
  ...(to === undefined ? {} : { to: hexOf(to.toLowerCase()) }),
  ...(data === undefined ? {} : { data: hexOf(data) })
})

/** The 32 bytes that an authority signs: keccak256(0x05 ‖ rlp([chain_id, address, nonce])). */
const authorizationDigest = Effect.fnUntraced(function* ({
  chainId,
  address,
  nonce
}: Pick<ListEntry, "chainId" | "address" | "nonce">) {
  const { concatHex, keccak256, numberToHex, toRlp } = yield* library
  const number = (value: number): Hex => (value === 0 ? "0x" : numberToHex(value))
  return keccak256(concatHex([signingPrefix, toRlp([number(chainId), hexOf(address), number(nonce)])]))
})

/** The lower-case address whose key has signed the authorization. Undefined: no key has made this signature. */
export const authorityOf = Effect.fnUntraced(function* (entry: ListEntry) {
  const { recoverAddress } = yield* library
  const hash = yield* authorizationDigest(entry)
  const signature = { r: hexOf(entry.r), s: hexOf(entry.s), yParity: entry.yParity }
  const address = yield* Effect.option(Effect.tryPromise(() => recoverAddress({ hash, signature })))
  return address._tag === "Some" ? address.value.toLowerCase() : undefined
})

/** The bytes before they are signed. */
export const unsignedOf = (unsigned: Unsigned) =>
  Effect.map(library, ({ serializeTransaction }) => serializeTransaction(serializable(unsigned)))

/** The 32 bytes that the key signs. */
export const digestOf = Effect.fnUntraced(function* (unsigned: Unsigned) {
  const { keccak256 } = yield* library
  return keccak256(yield* unsignedOf(unsigned), "bytes")
})

const partsOf = (signature: Uint8Array) => {
  const yParity = signature[64] ?? 0
  // A legacy transaction has `v`; viem adds the chain id (EIP-155).
  return {
    r: hexOfBytes(signature.subarray(0, 32)),
    s: hexOfBytes(signature.subarray(32, 64)),
    yParity,
    v: 27n + BigInt(yParity)
  }
}

/** Signs an authorization. `sign` makes r, s and the recovery bit of a digest, 65 bytes. */
export const authorize = Effect.fnUntraced(function* <E, R>(
  entry: Pick<ListEntry, "chainId" | "address" | "nonce">,
  sign: (digest: Uint8Array) => Effect.Effect<Uint8Array, E, R>
) {
  const { hexToBytes } = yield* library
  const { r, s, yParity } = partsOf(yield* sign(hexToBytes(yield* authorizationDigest(entry))))
  const signed: ListEntry = { ...entry, r, s, yParity: yParity === 1 ? 1 : 0 }
  return signed
})

/** `signature`: r, s and the recovery bit, 65 bytes. */
export const seal = Effect.fnUntraced(function* (unsigned: Unsigned, signature: Uint8Array) {
  const { hexToBytes, keccak256, serializeTransaction } = yield* library
  const raw = serializeTransaction(serializable(unsigned), partsOf(signature))
  const signed: SealedTransaction = { hash: keccak256(raw), raw: hexToBytes(raw) }
  return signed
})

/** The hash of signed bytes. */
export const hashOf = (raw: Uint8Array) => Effect.map(library, ({ keccak256 }) => keccak256(raw))

/** The lower-case address whose key made the signature. It takes 1.2 ms, fifteen times as long as a signature. */
export const signerOf = Effect.fnUntraced(function* (digest: Uint8Array, signature: Uint8Array) {
  const { recoverAddress } = yield* library
  const hash = hexOfBytes(digest)
  return (yield* Effect.promise(() => recoverAddress({ hash, signature: partsOf(signature) }))).toLowerCase()
})

/** The lower-case address of a public key of 65 bytes. */
export const addressOf = (publicKey: Uint8Array) =>
  Effect.map(library, ({ keccak256 }) => `0x${keccak256(publicKey.subarray(1)).slice(-40)}`)

/** The address whose key signed a transaction of a block. Undefined: its hash does not belong to its fields. */
export const senderOf = Effect.fnUntraced(function* ({ hash, transaction, signature }: SignedTransaction) {
  const { keccak256, recoverAddress, serializeTransaction } = yield* library
  if (keccak256(serializeTransaction(transaction, signature)) !== hash) return undefined
  const digest = keccak256(serializeTransaction(transaction))
  const sender = yield* Effect.promise(() => recoverAddress({ hash: digest, signature }))
  return sender.toLowerCase()
})

/** The lower-case address that has signed an authorization with this nonce (EIP-7702). Empty: none in the transaction. */
export const authoritiesOf = Effect.fnUntraced(function* ({ transaction }: SignedTransaction, nonce: number) {
  if (transaction.type !== "eip7702") return []
  const { recoverAuthorizationAddress } = yield* library
  const signed = (transaction.authorizationList ?? []).filter((authorization) => authorization.nonce === nonce)
  const addresses = yield* Effect.forEach(signed, (authorization) =>
    Effect.option(Effect.tryPromise(() => recoverAuthorizationAddress({ authorization })))
  )
  return addresses.flatMap((address) => (address._tag === "Some" ? [address.value.toLowerCase()] : []))
})
