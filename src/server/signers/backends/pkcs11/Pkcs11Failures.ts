// The failures of a key in a token of PKCS#11: for each, the field of the request that causes it, the message, and the results
// of the library.
import { Predicate } from "effect"
import { makeFailures } from "../RemoteSigner.ts"
import { SignerUnavailable } from "../SignerBackend.ts"
import { results } from "./Cryptoki.ts"

export const { fields, unavailable } = makeFailures({
  unreachable: ["config.module", "the token does not answer"],
  unexpected: ["config.module", "the library does not answer as PKCS#11 requires"],
  login: ["config.pin", "the token refuses the PIN"],
  throttled: ["config.module", "the token has no free session"],
  refused: ["config.key_label", "the token does not let the key sign (CKA_SIGN)"],
  not_found: ["config.token_label", "the module has no such token"],
  bad_key: ["config.key_label", "the token has no usable key with this label and id"],
  mismatch: ["config.key_label", "the private key is not the one of the public key"],
  curve: ["config.key_label", "the key is not on secp256k1 or Ed25519"],
  not_installed: ["type", "needs the package pkcs11js"]
})

type Pkcs11Reason = Parameters<typeof unavailable>[0]

const reasons = new Map<number, Pkcs11Reason>([
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
  Predicate.hasProperty(error, "code") && Predicate.isNumber(error.code) ? error.code : undefined

/** `error` is what the library or the code around it threw. Its text is discarded. */
export const ofError = (error: unknown): SignerUnavailable =>
  error instanceof SignerUnavailable ? error : unavailable(reasons.get(codeOf(error) ?? -1) ?? "unexpected")
