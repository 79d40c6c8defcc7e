// Authorizations of EIP-7702: what an authority has signed, how nodes take it, and which code it leaves at the authority.

/** What an authority has signed: its address runs the code of the delegate. Hex is in lower case. */
export interface Authorization {
  /** 0: it is valid on every chain. */
  readonly chainId: number
  /** The delegate. The zero address ends a delegation. */
  readonly address: string
  /** Transactions of the authority before it is applied. The authority's count is one more afterwards. */
  readonly nonce: number
  /** 0 or 1. */
  readonly yParity: number
  /** 0x and 64 digits, as is `s`. */
  readonly r: string
  readonly s: string
}

/** An authorization whose signer is known. */
export interface SignedAuthorization extends Authorization {
  /** The account whose key has signed it. */
  readonly authority: string
  /** When it was accepted, the delegate had no code: the authority runs nothing. Absent: it had code, or nobody said so. */
  readonly isWithoutCode?: true
}

/** What providers and the ledger say of an authority now. What is absent was not answered. */
export interface AuthorityState {
  /** Its transactions in blocks. */
  readonly count?: number
  /** The same, with those in the pool of a provider. */
  readonly pendingCount?: number
  readonly code?: string
  /** Whether it is the account of a relayer: an authorization of it uses up a nonce of a lane. */
  readonly isRelayer: boolean
}

/**
 * - `ready`: nodes apply it now, or its delegation is there already.
 * - `ahead`: its nonce is above the count of the authority.
 * - `used`: its nonce is below the count, and the delegation is not there.
 * - `busy`: pools have several transactions of the authority, beside which they take no authorization of it.
 * - `relayer`: its authority is the account of a relayer.
 * - `unknown`: no provider has said enough.
 */
export type EntryStanding = "ready" | "ahead" | "used" | "busy" | "relayer" | "unknown"

/** Pending transactions of an authority beside which pools take no authorization of it. Seen in geth 1.17.10. */
const pendingOfBusy = 2

export const standingOf = (
  entry: SignedAuthorization,
  { code, count, isRelayer, pendingCount = 0 }: AuthorityState
): EntryStanding => {
  if (isRelayer) return "relayer"
  if (count === undefined || code === undefined) return "unknown"
  if (entry.nonce < count) return isDelegated(entry, code) ? "ready" : "used"
  if (entry.nonce > count) return "ahead"
  return pendingCount >= count + pendingOfBusy ? "busy" : "ready"
}

/** The standing that decides about a list: what ends it first, then what it waits for. */
const order: ReadonlyArray<EntryStanding> = ["relayer", "used", "unknown", "ahead", "busy"]

export interface ListStanding {
  readonly standing: EntryStanding
  /** The entry that decides. Absent: all of them are ready. */
  readonly entry?: SignedAuthorization
  /** The count of its authority. Absent: not known. */
  readonly count?: number
}

/** `states`: of each entry, in their order. */
export const standingOfList = (
  list: ReadonlyArray<SignedAuthorization>,
  states: ReadonlyArray<AuthorityState>
): ListStanding => {
  const all = list.map((entry, index) => {
    const state = states[index] ?? { isRelayer: false }
    const { count } = state
    return { standing: standingOf(entry, state), entry, ...(count === undefined ? {} : { count }) }
  })
  const found = order.flatMap((standing) => all.find((one) => one.standing === standing) ?? [])[0]
  return found ?? { standing: "ready" }
}

/**
 * Gas of an entry before anything is executed (EIP-7702, PER_EMPTY_ACCOUNT_COST). Nodes refuse less; anvil answers a hash and drops the bytes. What
 * entries cost in all is asked of nodes.
 */
export const entryGas = 25_000n

/** What precedes the fields in what an authority signs (EIP-7702, MAGIC). */
export const signingPrefix = "0x05"

/** The type of a transaction with a list (EIP-7702, SET_CODE_TX_TYPE). */
export const listedType = 4

/** The delegate that ends a delegation: the account has no code afterwards. */
export const noDelegate = `0x${"0".repeat(40)}`

/** The order of secp256k1. */
const curveOrder = 0xffffffff_ffffffff_ffffffff_fffffffe_baaedce6_af48a03b_bfd25e8c_d0364141n

/** Nodes skip an entry with an `s` above this (EIP-2). */
export const highestS = curveOrder / 2n

/** Whether the value can be an `r`: nonzero and below the order of the curve. */
export const isScalar = (value: string): boolean => {
  const number = BigInt(value)
  return number > 0n && number < curveOrder
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
