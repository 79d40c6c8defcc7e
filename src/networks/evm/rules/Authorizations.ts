// Authorizations of EIP-7702: what an authority has signed, how nodes take it, and which code it leaves at the authority.

/** What an authority has signed: its address runs the code of the delegate. Hex is in lower case. */
export interface Authorization {
  /** 0: it is valid on every chain. */
  readonly chainId: number
  /** The delegate. The zero address ends a delegation. */
  readonly address: string
  /** Transactions of the authority before it is applied. The authority's count is one more afterwards. */
  readonly nonce: number
  readonly yParity: 0 | 1
  /** 0x and 64 digits, as is `s`. */
  readonly r: string
  readonly s: string
}

/** An authorization whose signer is known. */
export interface SignedAuthorization extends Authorization {
  /** The account whose key has signed it. */
  readonly authority: string
}

/** What precedes the fields in what an authority signs (EIP-7702, MAGIC). */
export const signingPrefix = "0x05"

/** The type of a transaction with a list (EIP-7702, SET_CODE_TX_TYPE). */
export const listedType = 4

/** The delegate that ends a delegation: the account has no code afterwards. */
export const noDelegate = `0x${"0".repeat(40)}`

/** The order of secp256k1. */
const order = 0xffffffff_ffffffff_ffffffff_fffffffe_baaedce6_af48a03b_bfd25e8c_d0364141n

/** Nodes skip an entry with an `s` above this (EIP-2). */
export const highestS = order / 2n

/** Whether the value can be an `r`: nonzero and below the order of the curve. */
export const isScalar = (value: string): boolean => {
  const number = BigInt(value)
  return number > 0n && number < order
}

/** Code of an account with a delegation begins with this. */
const prefix = "0xef0100"

const delegation = /^0xef0100([0-9a-f]{40})$/

/** The code of an account after an authorization of it was applied. `0x`: it has none. */
export const codeOf = ({ address }: Pick<Authorization, "address">): string =>
  address === noDelegate ? "0x" : `${prefix}${address.slice(2)}`

/** The delegate that a code names, in lower case. Undefined: the code is no delegation. */
export const delegateOf = (code: string): string | undefined => {
  const [, digits] = delegation.exec(code.toLowerCase()) ?? []
  return digits === undefined ? undefined : `0x${digits}`
}

/** Whether the code is what the authorization leaves at its authority. */
export const isDelegated = (entry: Pick<Authorization, "address">, code: string): boolean =>
  codeOf(entry) === code.toLowerCase()

/** Code that is neither absent nor a delegation: nodes skip an authorization of such an account. */
export const isForeignCode = (code: string): boolean => code !== "0x" && delegateOf(code) === undefined

/** An authorization as nodes take it: geth refuses numbers, leading zeros and `v`. */
export interface NodeAuthorization {
  readonly chainId: string
  readonly address: string
  readonly nonce: string
  readonly yParity: string
  readonly r: string
  readonly s: string
}

/** `0x` and hex digits without leading zeros. */
const quantity = (value: number | string): string => `0x${BigInt(value).toString(16)}`

export const forNodes = ({ chainId, address, nonce, yParity, r, s }: Authorization): NodeAuthorization => ({
  chainId: quantity(chainId),
  address,
  nonce: quantity(nonce),
  yParity: quantity(yParity),
  r: quantity(r),
  s: quantity(s)
})
