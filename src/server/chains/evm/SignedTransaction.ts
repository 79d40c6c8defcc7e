// A signed transaction as nodes return it, in the form in which its bytes can be made again.
import { Option, Schema } from "effect"
import type { TransactionSerializable } from "viem"

const Hex = Schema.TemplateLiteral(["0x", Schema.String])
const optional = Schema.optionalKey

const Access = Schema.Struct({ address: Hex, storageKeys: Schema.Array(Hex) })

const Authorization = Schema.Struct({
  chainId: Hex,
  address: Hex,
  nonce: Hex,
  yParity: optional(Hex),
  v: optional(Hex),
  r: Hex,
  s: Hex
})

const Fields = Schema.Struct({
  hash: Hex,
  type: optional(Hex),
  nonce: Hex,
  to: Schema.NullOr(Hex),
  value: Hex,
  input: Hex,
  gas: Hex,
  gasPrice: optional(Schema.NullOr(Hex)),
  maxFeePerGas: optional(Schema.NullOr(Hex)),
  maxPriorityFeePerGas: optional(Schema.NullOr(Hex)),
  chainId: optional(Schema.NullOr(Hex)),
  accessList: optional(Schema.NullOr(Schema.Array(Access))),
  authorizationList: optional(Schema.NullOr(Schema.Array(Authorization))),
  v: optional(Hex),
  yParity: optional(Hex),
  r: Hex,
  s: Hex
})
type Fields = typeof Fields.Type

const decode = Schema.decodeUnknownOption(Fields)

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

const commonOf = (fields: Fields) => ({
  nonce: Number(big(fields.nonce)),
  value: big(fields.value),
  gas: big(fields.gas),
  data: fields.input,
  ...(fields.to === null ? {} : { to: fields.to })
})

const dynamicOf = (fields: Fields) => ({
  ...commonOf(fields),
  chainId: Number(big(fields.chainId)),
  accessList: (fields.accessList ?? []).map(({ address, storageKeys }) => ({ address, storageKeys })),
  maxFeePerGas: big(fields.maxFeePerGas),
  maxPriorityFeePerGas: big(fields.maxPriorityFeePerGas)
})

/** EIP-155 puts the chain id into `v`: 35 + 2 × id + parity. Without it, `v` is 27 or 28. */
const legacyOf = (fields: Fields): SignedTransaction => {
  const v = big(fields.v)
  const chain = v >= 35n ? { chainId: Number((v - 35n) / 2n) } : {}
  const yParity = Number(v >= 35n ? (v - 35n) % 2n : v - 27n)
  return {
    hash: fields.hash.toLowerCase(),
    transaction: { ...commonOf(fields), ...chain, type: "legacy", gasPrice: big(fields.gasPrice) },
    signature: { r: fields.r, s: fields.s, yParity, v }
  }
}

const transactionOf = (fields: Fields): TransactionSerializable | undefined => {
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
export const parse = (value: unknown): SignedTransaction | undefined => {
  const fields = Option.getOrUndefined(decode(value))
  if (fields === undefined) return undefined
  if (big(fields.type) === 0n) return legacyOf(fields)
  const transaction = transactionOf(fields)
  const yParity = Number(big(fields.yParity ?? fields.v))
  const hash = fields.hash.toLowerCase()
  return transaction && { hash, transaction, signature: { r: fields.r, s: fields.s, yParity } }
}
