// What contracts of the stand-in ledger have in common: their calls, and the authorizations that these need.
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import {
  Address,
  Asset,
  buildAuthorizationEntryPreimage,
  scValToBigInt,
  scValToNative,
  StrKey,
  xdr
} from "@stellar/stellar-sdk/base"
import { keyOf } from "./Entries.ts"
import type { Changes, Reads } from "./Entries.ts"
import { sha256 } from "./Envelope.ts"
import { isSignedBy } from "./Signatures.ts"

const contractNamed = (name: string): string =>
  StrKey.encodeContract(sha256(Buffer.from(`${name} of the stand-in ledger`)))

/** The contract that counts its calls. */
export const counterContract = contractNamed("counter")

/** The key of the counter's data. */
export const counterKey = xdr.LedgerKey.contractData(
  new xdr.LedgerKeyContractData({
    contract: Address.fromString(counterContract).toScAddress(),
    key: xdr.ScVal.scvLedgerKeyContractInstance(),
    durability: xdr.ContractDataDurability.persistent
  })
)

/** A token that is only a contract. */
export const tokenContract = contractNamed("token")

/** The contract that passes a call on, and takes a fee in a token for it. */
export const forwarderContract = contractNamed("forwarder")

/** An account that is a contract, and lets anybody act for it: it needs no signature. */
export const openContract = contractNamed("open account")

/** Contracts with code of their own. */
export const ownContracts: ReadonlySet<string> = new Set([
  counterContract,
  tokenContract,
  forwarderContract,
  openContract
])

export const nativeContract = (passphrase: string): string => Asset.native().contractId(passphrase)

/** Instructions that every call needs. */
export const callInstructions = 1_000_000

/** What a call costs in stroops; the rest of the declared fee is returned. */
export const callCost = { nonRefundable: 20_000n, refundable: 30_000n } as const

/** What a call costs more in stroops if it restores an archived entry. */
export const restoreCost = 5000n

export interface Call {
  readonly contract: string
  readonly name: string
  readonly args: ReadonlyArray<Xdr.ScVal>
}

export const callOf = ({ contractAddress, functionName, args }: Xdr.InvokeContractArgs): Call => ({
  contract: Address.fromScAddress(contractAddress).toString(),
  name: functionName.toString(),
  args
})

/** Whether a call needs the entry of the counter, also through the forwarder. */
export const needsCounter = ({ args, contract }: Call): boolean =>
  contract === counterContract || (contract === forwarderContract && addressIn(args[4]) === counterContract)

/** A call and the calls below it, as an address authorizes them. */
export interface Tree {
  readonly call: Call
  readonly below: ReadonlyArray<Tree>
}

/** A tree of calls under the signature of an address. */
export interface Needed extends Tree {
  readonly address: string
}

export type Ran =
  | {
      readonly isSuccess: true
      readonly value: Xdr.ScVal
      readonly needed: ReadonlyArray<Needed>
      readonly write: (changes: Changes) => boolean
    }
  | { readonly isSuccess: false; readonly error: string }

export const trap = (error: string): Ran => ({ isSuccess: false, error })

export const addressIn = (value: Xdr.ScVal | undefined): string | undefined =>
  value?.type === "scvAddress" ? Address.fromScAddress(value.address).toString() : undefined

export const amountIn = (value: Xdr.ScVal | undefined): bigint | undefined =>
  value?.type === "scvI128" ? scValToBigInt(value) : undefined

const isSameCall = (invocation: Xdr.SorobanAuthorizedInvocation, { contract, name, args }: Call): boolean => {
  const granted = invocation.function
  if (granted.type !== "sorobanAuthorizedFunctionTypeContractFn") return false
  const found = callOf(granted.contractFn)
  const isSame = found.contract === contract && found.name === name && found.args.length === args.length
  return isSame && found.args.every((value, index) => value.toXdr("base64") === args[index]?.toXdr("base64"))
}

const covers = (invocation: Xdr.SorobanAuthorizedInvocation, { call, below }: Tree): boolean =>
  isSameCall(invocation, call) && below.every((one) => invocation.subInvocations.some((sub) => covers(sub, one)))

/** The credentials of an address, of any version. Undefined: those of the source. */
const addressCredentialsIn = (credentials: Xdr.SorobanCredentials): Xdr.SorobanAddressCredentials | undefined => {
  switch (credentials.type) {
    case "sorobanCredentialsAddress":
      return credentials.address
    case "sorobanCredentialsAddressV2":
      return credentials.addressV2
    case "sorobanCredentialsAddressWithDelegates":
      return credentials.addressWithDelegates.addressCredentials
    case "sorobanCredentialsSourceAccount":
      return undefined
  }
}

/** What the owner of an address signs. The payload of `ADDRESS_V2` and of `ADDRESS_WITH_DELEGATES` has the address in it (CAP-71). */
export const authorizationHash = (passphrase: string, entry: Xdr.SorobanAuthorizationEntry): Buffer => {
  const expires = addressCredentialsIn(entry.credentials)?.signatureExpirationLedger ?? 0
  return sha256(buildAuthorizationEntryPreimage(entry, expires, passphrase).toXdr())
}

const bytesOf = (value: unknown): Uint8Array => (value instanceof Uint8Array ? value : new Uint8Array())

/** `[{public_key, signature}]`, which the account contract of stellar-core reads. */
const isSigned = (address: string, credentials: Xdr.SorobanAddressCredentials, hash: Uint8Array): boolean => {
  if (credentials.signature.type !== "scvVec") return false
  const [first]: ReadonlyArray<{ readonly public_key?: unknown; readonly signature?: unknown }> = scValToNative(
    credentials.signature
  )
  if (first === undefined) return false
  const key = bytesOf(first.public_key)
  return (
    key.length === 32 &&
    StrKey.encodeEd25519PublicKey(key) === address &&
    isSignedBy(address, hash, bytesOf(first.signature))
  )
}

interface At {
  /** The source of the operation. Credentials of the source mean it. */
  readonly source: string
  readonly passphrase: string
  readonly ledger: number
}

const usedBy = ({ address, nonce }: Xdr.SorobanAddressCredentials): string =>
  keyOf.nonce(Address.fromScAddress(address).toString(), nonce)

const grants = (entry: Xdr.SorobanAuthorizationEntry, needed: Needed, at: At, reads: Reads): boolean => {
  if (!covers(entry.rootInvocation, needed)) return false
  const address = addressCredentialsIn(entry.credentials)
  if (address === undefined) return needed.address === at.source
  return (
    Address.fromScAddress(address.address).toString() === needed.address &&
    address.signatureExpirationLedger >= at.ledger &&
    reads.get(usedBy(address)) === undefined &&
    (needed.address === openContract || isSigned(needed.address, address, authorizationHash(at.passphrase, entry)))
  )
}

/**
 * Whether the entries of the envelope grant what the call needs. The nonce of an entry that an address has signed is used up
 * (`consume_nonce` of soroban-env-host). It is kept for ever: after the entry's last ledger, the entry is refused anyway.
 */
export const takeGrant = (
  needed: Needed,
  entries: ReadonlyArray<Xdr.SorobanAuthorizationEntry>,
  at: At,
  changes: Changes
): boolean => {
  const entry = entries.find((one) => grants(one, needed, at, changes))
  const address = entry && addressCredentialsIn(entry.credentials)
  if (address !== undefined) changes.set(usedBy(address), { kind: "nonce" })
  return entry !== undefined
}
