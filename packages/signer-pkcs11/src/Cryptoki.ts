// PKCS#11 3.0 as the package pkcs11js has it: the parts and the numbers that signers need, and what a result means for a signer.

/** The handle of a slot, a session or an object. */
export type Handle = Buffer

interface Attribute {
  readonly type: number
  readonly value?: Buffer | string | number
}

interface ReadAttribute {
  readonly type: number
  readonly value: Buffer
}

interface TokenInfo {
  /** Padded with blanks, as `serialNumber` is. */
  readonly label: string
  readonly serialNumber: string
  readonly flags: number
}

/** One loaded library. Methods fail with an error that has the result of the call as `code`. */
export interface Cryptoki {
  load(path: string): void
  C_Initialize(options: { readonly flags: number }): void
  C_GetSlotList(hasToken: boolean): ReadonlyArray<Handle>
  C_GetTokenInfo(slot: Handle): TokenInfo
  C_OpenSession(slot: Handle, flags: number): Handle
  C_CloseSession(session: Handle): void
  C_Login(session: Handle, user: number, pin: string): void
  C_FindObjectsInit(session: Handle, template: ReadonlyArray<Attribute>): void
  C_FindObjects(session: Handle, most: number): ReadonlyArray<Handle>
  C_FindObjectsFinal(session: Handle): void
  C_GetAttributeValue(session: Handle, object: Handle, template: ReadonlyArray<Attribute>): ReadonlyArray<ReadAttribute>
  C_SignInit(session: Handle, mechanism: { readonly mechanism: number }, key: Handle): void
  /** Runs in a thread of libuv, so that a slow device does not stop the service. */
  C_SignAsync(session: Handle, message: Buffer, signature: Buffer): Promise<Buffer>
}

export const flags = {
  /** Flag of `C_Initialize`: the library uses its own locks, because signatures run in several threads. */
  osLocking: 0x02,
  /** Flag of `C_OpenSession`, which the standard requires. */
  serialSession: 0x04,
  /** Flag of a token: one more wrong PIN locks it. */
  finalTry: 0x2_0000,
  locked: 0x4_0000
} as const

export const user = 1

export const classes = { publicKey: 2, privateKey: 3 } as const

export const attributes = {
  class: 0x000,
  label: 0x003,
  id: 0x102,
  ecParams: 0x180,
  ecPoint: 0x181
} as const

export const mechanisms = { secp256k1: 0x1041, ed25519: 0x1057 } as const

export const results = {
  deviceError: 0x30,
  deviceMemory: 0x31,
  deviceRemoved: 0x32,
  functionFailed: 0x06,
  generalError: 0x05,
  keyFunctionNotPermitted: 0x68,
  keyTypeInconsistent: 0x63,
  mechanismInvalid: 0x70,
  objectHandleInvalid: 0x82,
  keyHandleInvalid: 0x60,
  operationActive: 0x90,
  pinIncorrect: 0xa0,
  pinInvalid: 0xa1,
  pinLength: 0xa2,
  pinExpired: 0xa3,
  pinLocked: 0xa4,
  sessionClosed: 0xb0,
  sessionCount: 0xb1,
  sessionHandleInvalid: 0xb3,
  tokenNotPresent: 0xe0,
  alreadyLoggedIn: 0x100,
  notLoggedIn: 0x101,
  userPinNotInitialized: 0x102,
  alreadyInitialized: 0x191
} as const

/** Why a token does not do what it is asked for. */
export type Reason =
  | "unreachable"
  /** The library does not answer as the standard requires. */
  | "unexpected"
  /** The token refuses the PIN. */
  | "login"
  /** The token has no free session. */
  | "throttled"
  /** The token does not let the key sign. */
  | "refused"
  /** The module has no such token. */
  | "not_found"
  /** The token has no usable key with this name. */
  | "bad_key"
  /** The key is on no curve that signers use. */
  | "curve"

/** `detail` says more than the reason does. It contains no text of the library. */
export class TokenFailure extends Error {
  override readonly name = "TokenFailure"
  readonly reason: Reason
  readonly detail: string | undefined

  constructor(reason: Reason, detail?: string) {
    super(detail ?? reason)
    this.reason = reason
    this.detail = detail
  }
}

const reasons = new Map<number, Reason>([
  [results.generalError, "unreachable"],
  [results.functionFailed, "unreachable"],
  [results.deviceError, "unreachable"],
  [results.deviceMemory, "unreachable"],
  [results.deviceRemoved, "unreachable"],
  [results.tokenNotPresent, "unreachable"],
  [results.sessionClosed, "unreachable"],
  [results.sessionHandleInvalid, "unreachable"],
  [results.notLoggedIn, "unreachable"],
  [results.objectHandleInvalid, "unreachable"],
  [results.keyHandleInvalid, "unreachable"],
  [results.operationActive, "unreachable"],
  [results.sessionCount, "throttled"],
  [results.pinIncorrect, "login"],
  [results.pinInvalid, "login"],
  [results.pinLength, "login"],
  [results.pinExpired, "login"],
  [results.pinLocked, "login"],
  [results.userPinNotInitialized, "login"],
  [results.keyFunctionNotPermitted, "refused"],
  [results.keyTypeInconsistent, "bad_key"],
  [results.mechanismInvalid, "bad_key"]
])

/** The result code of the library in an error. Undefined if the error is not from the library. */
export const codeOf = (error: unknown): number | undefined =>
  error instanceof Object && "code" in error && typeof error.code === "number" ? error.code : undefined

/** `error` is what the library or the code around it threw. Its text is discarded. */
export const ofError = (error: unknown): TokenFailure =>
  error instanceof TokenFailure ? error : new TokenFailure(reasons.get(codeOf(error) ?? -1) ?? "unexpected")
