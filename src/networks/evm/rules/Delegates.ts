// Contracts that an account delegates to (EIP-7702): what their code and storage say about them, and what makes one unfit. Pure.
import { delegateOf, isForeignCode } from "./Authorizations.ts"

/** Storage slots of proxies that name other code (EIP-1967). */
export const proxySlots = {
  implementation: "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc",
  beacon: "0xa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50"
} as const

/** What runs if the account is called. Hashes and addresses are in lower case. */
export interface DelegateState {
  /** keccak256 of the code of the delegate. */
  readonly codeHash: string
  /** What its storage names as other code. Absent: nothing. */
  readonly implementation?: string
  readonly beacon?: string
}

/** What a caller has asked for and the service has checked. Addresses are in lower case. */
export interface DelegationFacts extends Partial<DelegateState> {
  /** The zero address ends a delegation, and has no code. */
  readonly delegate: string
  /** Whether contracts accept signatures of the account's own key. */
  readonly takesSignatures: boolean
}

/** What a lane remembers of the newest delegation of its account that has bytes. */
export interface DelegationRecord extends DelegationFacts {
  /** The nonce of the transaction. Its authorization uses the next one. */
  readonly nonce: number
  readonly generation: number
}

/** What decides about the code that an account had at a block. */
export interface CodeQuery {
  /** The code, in lower case, if the attempt in that block did what it is for. */
  readonly expected: string
  /** Its nonce. A state in which the account has not used it is older than the block. */
  readonly nonce: number
  /** Up to this count of the account, nothing has changed its code since the block, because an authorization uses a nonce. */
  readonly count: number
}

/** What providers have of it. `doubt`: why what one has is not believed. Neither: no provider shows it. */
export interface FoundCode {
  readonly code?: string
  readonly doubt?: "second_provider_missing" | "providers_disagree"
}

export const isSameState = (one: Partial<DelegateState>, other: Partial<DelegateState>): boolean =>
  one.codeHash === other.codeHash && one.implementation === other.implementation && one.beacon === other.beacon

/** The address in a word of storage. Undefined: the slot is empty. */
export const addressIn = (word: string): string | undefined => {
  const digits = word.slice(2).toLowerCase().padStart(64, "0").slice(-40)
  return /^0*$/.test(digits) ? undefined : `0x${digits}`
}

/** A proxy of EIP-1167, also in its shorter forms: code that only passes calls on to the address in it. */
const minimalProxy = /^0x36(?:3d3d37|5f5f37|602c5737|600080376020600036).{0,60}?73[0-9a-f]{40}5a/

export const isMinimalProxy = (code: string): boolean => minimalProxy.test(code.toLowerCase())

/** Whether other code than that of the delegate itself runs, so that its hash says nothing. */
export const isProxy = (code: string, { implementation, beacon }: Partial<DelegateState>): boolean =>
  isMinimalProxy(code) || implementation !== undefined || beacon !== undefined

/**
 * Functions that set who controls an account, by the first four bytes of the hash of their signature: the usual ones of smart accounts. On
 * an account that has just delegated, the first caller of one decides.
 */
export const initializers: ReadonlyMap<string, string> = new Map([
  ["8129fc1c", "initialize()"],
  ["c4d66de8", "initialize(address)"],
  ["485cc955", "initialize(address,address)"],
  ["439fab91", "initialize(bytes)"],
  ["d1f57894", "initialize(address,bytes)"],
  ["60b5bb3f", "initialize(bytes[])"],
  ["870bfec9", "initialize(bytes[],uint256)"],
  ["e1c7392a", "init()"],
  ["19ab453c", "init(address)"],
  ["4ddf47d4", "init(bytes)"],
  ["4b6a1419", "initializeAccount(bytes)"],
  ["b63e800d", "setup(address[],uint256,address,bytes,address,address,uint256,address)"]
])

/** PUSH4, with which compilers compare selectors. */
const pushSelector = "63"

/** The initializers that the code compares selectors with. */
export const initializersIn = (code: string): ReadonlyArray<string> =>
  [...initializers.keys()].filter((selector) => code.toLowerCase().includes(pushSelector + selector))

/** Words of zeros behind a selector: offsets and lengths of all parameters, so that any signature decodes. */
const argumentWords = 12

/** A call of an initializer by somebody who wants the account. */
export const initializing = (selector: string): string => `0x${selector}${"0".repeat(64 * argumentWords)}`

/** What the code of the delegate alone says against it. `account`: of the relayer, in lower case. */
export const codeFault = (delegate: string, code: string, account: string): string | undefined => {
  if (delegate === account)
    return "cannot be the relayer's own address: each call of the account would use up all its gas"
  if (code === "0x") return "has no code on this chain"
  if (delegateOf(code) !== undefined) {
    return "is itself an account with a delegation: each call of the relayer's account would use up all its gas"
  }
  return isForeignCode(code) ? undefined : "has no code on this chain"
}

/** What is wrong with a proxy that the caller has not accepted. */
export const proxyFault =
  "is a proxy, whose code can be replaced without a trace at the account; name the contract behind it, or set accept_proxy"

/** Where an open delegation of a lane is. */
export type DelegationStage = "waiting" | "signed"
