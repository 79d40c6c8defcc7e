// Applies calls of contracts: one contract with `increment`, `transfer` and `fail`, and the native asset's contract.
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import { Address, Asset, nativeToScVal, scValToBigInt, scValToNative, StrKey, xdr } from "@stellar/stellar-sdk/base"
import { keyOf } from "./Entries.ts"
import type { Changes } from "./Entries.ts"
import { networkIdOf, sha256 } from "./Envelope.ts"
import { moveNative } from "./Payments.ts"
import { isSignedBy } from "./Signatures.ts"

/** The contract that counts its calls. */
export const counterContract = StrKey.encodeContract(sha256(Buffer.from("counter of the stand-in ledger")))

export const nativeContract = (passphrase: string): string => Asset.native().contractId(passphrase)

/** Instructions that every call needs. */
export const callInstructions = 1_000_000

/** What a call costs in stroops; the rest of the declared fee is returned. */
export const callCost = { nonRefundable: 20_000n, refundable: 30_000n } as const

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

/** A tree of calls under the signature of an address. */
export interface Needed {
  readonly address: string
  readonly call: Call
  readonly below: ReadonlyArray<Call>
}

export type Ran =
  | {
      readonly isSuccess: true
      readonly value: Xdr.ScVal
      readonly changes: ReadonlyArray<readonly [from: string, to: string, amount: bigint]>
      readonly needed: ReadonlyArray<Needed>
      readonly write: (changes: Changes) => boolean
    }
  | { readonly isSuccess: false; readonly error: string }

const trap = (error: string): Ran => ({ isSuccess: false, error })

const addressOf = (value: Xdr.ScVal | undefined): string | undefined =>
  value?.type === "scvAddress" ? Address.fromScAddress(value.address).toString() : undefined

const amountOf = (value: Xdr.ScVal | undefined): bigint | undefined =>
  value?.type === "scvI128" ? scValToBigInt(value) : undefined

const move = (
  from: string,
  to: string,
  amount: bigint,
  needed: ReadonlyArray<Needed>,
  also: (changes: Changes) => boolean = () => true
): Ran => ({
  isSuccess: true,
  value: xdr.ScVal.scvVoid(),
  changes: [[from, to, amount]],
  needed,
  write: (changes) => moveNative(changes, from, to, amount) && also(changes)
})

const runNative = (call: Call, ledger: number): Ran => {
  const [first, second, third, fourth] = call.args
  if (call.name === "transfer") {
    const [from, to, amount] = [addressOf(first), addressOf(second), amountOf(third)]
    if (from === undefined || to === undefined || amount === undefined) return trap("transfer: wrong arguments")
    return move(from, to, amount, [{ address: from, call, below: [] }])
  }
  if (call.name === "approve") {
    const [owner, spender, amount] = [addressOf(first), addressOf(second), amountOf(third)]
    if (owner === undefined || spender === undefined || amount === undefined || fourth?.type !== "scvU32") {
      return trap("approve: wrong arguments")
    }
    const allowance = { kind: "allowance" as const, amount, untilLedger: fourth.u32 }
    return {
      isSuccess: true,
      value: xdr.ScVal.scvVoid(),
      changes: [],
      needed: [{ address: owner, call, below: [] }],
      write: (changes) => {
        changes.set(keyOf.allowance(owner, spender), allowance)
        return true
      }
    }
  }
  if (call.name !== "transfer_from") return trap(`no function ${call.name}`)
  const [spender, from, to, amount] = [addressOf(first), addressOf(second), addressOf(third), amountOf(fourth)]
  if (spender === undefined || from === undefined || to === undefined || amount === undefined) {
    return trap("transfer_from: wrong arguments")
  }
  return move(from, to, amount, [{ address: spender, call, below: [] }], (changes) => {
    const key = keyOf.allowance(from, spender)
    const allowance = changes.get(key)
    if (allowance?.kind !== "allowance" || allowance.untilLedger < ledger || allowance.amount < amount) return false
    changes.set(key, { ...allowance, amount: allowance.amount - amount })
    return true
  })
}

const runCounter = (call: Call, changes: Changes, native: string): Ran => {
  if (call.name === "fail") return trap("the contract failed as it was asked to")
  if (call.name === "transfer") {
    const [from, to, amount] = [addressOf(call.args[0]), addressOf(call.args[1]), amountOf(call.args[2])]
    if (from === undefined || to === undefined || amount === undefined) return trap("transfer: wrong arguments")
    const below = { contract: native, name: "transfer", args: call.args }
    return move(from, to, amount, [{ address: from, call, below: [below] }])
  }
  if (call.name !== "increment") return trap(`no function ${call.name}`)
  const counter = changes.get(keyOf.counter)
  const value = counter?.kind === "counter" ? counter.value + 1 : 1
  return {
    isSuccess: true,
    value: nativeToScVal(value, { type: "u32" }),
    changes: [],
    needed: [],
    write: (written) => {
      written.set(keyOf.counter, { kind: "counter", value, isArchived: false })
      return true
    }
  }
}

/** What a call does, before its authorization is checked. */
export const run = (call: Call, changes: Changes, passphrase: string, ledger: number): Ran => {
  const native = nativeContract(passphrase)
  if (call.contract === native) return runNative(call, ledger)
  return call.contract === counterContract ? runCounter(call, changes, native) : trap("no such contract")
}

const isSameCall = (invocation: Xdr.SorobanAuthorizedInvocation, { contract, name, args }: Call): boolean => {
  const granted = invocation.function
  if (granted.type !== "sorobanAuthorizedFunctionTypeContractFn") return false
  const found = callOf(granted.contractFn)
  const isSame = found.contract === contract && found.name === name && found.args.length === args.length
  return isSame && found.args.every((value, index) => value.toXdr("base64") === args[index]?.toXdr("base64"))
}

const covers = ({ rootInvocation }: Xdr.SorobanAuthorizationEntry, { call, below }: Needed): boolean =>
  isSameCall(rootInvocation, call) &&
  below.every((one) => rootInvocation.subInvocations.some((invocation) => isSameCall(invocation, one)))

/** What the owner of an address signs for a tree of calls. */
export const authorizationHash = (
  passphrase: string,
  { nonce, signatureExpirationLedger }: Xdr.SorobanAddressCredentials,
  invocation: Xdr.SorobanAuthorizedInvocation
): Buffer =>
  sha256(
    xdr.HashIdPreimage.envelopeTypeSorobanAuthorization(
      new xdr.HashIdPreimageSorobanAuthorization({
        networkId: networkIdOf(passphrase),
        nonce,
        signatureExpirationLedger,
        invocation
      })
    ).toXdr()
  )

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

/** Whether the entries of the envelope grant what the call needs. Credentials of the source mean the operation's source. */
export const isGranted = (
  needed: Needed,
  entries: ReadonlyArray<Xdr.SorobanAuthorizationEntry>,
  at: { readonly source: string; readonly passphrase: string; readonly ledger: number }
): boolean =>
  entries.some((entry) => {
    if (!covers(entry, needed)) return false
    const { credentials } = entry
    if (credentials.type === "sorobanCredentialsSourceAccount") return needed.address === at.source
    if (credentials.type !== "sorobanCredentialsAddress") return false
    const { address } = credentials
    return (
      Address.fromScAddress(address.address).toString() === needed.address &&
      address.signatureExpirationLedger >= at.ledger &&
      isSigned(needed.address, address, authorizationHash(at.passphrase, address, entry.rootInvocation))
    )
  })
