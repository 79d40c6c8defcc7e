// Drafts of what a request does, which the guard and simulations read; among them calls of the forwarder for a user.
import { Effect, Result } from "effect"
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import { present } from "../../core/Presentation.ts"
import { refuse } from "../rules/Envelope.ts"
import type { AuthEntry, Refusal } from "../rules/Envelope.ts"
import { forwardFunction, signedByUser } from "../rules/SponsoredPayment.ts"
import type { StellarRequest } from "../rules/Stellar.ts"
import type { StellarOperation } from "../rules/StellarRequests.ts"
import { toParts } from "../rules/StellarValues.ts"
import { authOf } from "./StellarDecoding.ts"
import { buildWith, creationOf, placed, v1In } from "./StellarEncoding.ts"
import type { Draft, UnsignedEnvelope } from "./StellarEncoding.ts"
import { hashOf, library, reading, scValToXdr, textOf } from "./StellarLibrary.ts"
import type { Library } from "./StellarLibrary.ts"

// Envelopes in which the relayer calls the forwarder for a user, and the authorizations in them.

/** A call that a user wants, and what the user pays for it. Amounts in units of the token. */
export interface Forward {
  readonly forwarder: string
  readonly token: string
  readonly fee: bigint
  readonly maxFee: bigint
  readonly untilLedger: number
  readonly target: Xdr.InvokeContractArgs
  readonly user: string
  readonly relayer: string
}

/** What a call of a contract is in an envelope. Undefined: the envelope does anything else. */
export const callIn = (lib: Library, text: string): Xdr.InvokeContractArgs | undefined => {
  const [operation, ...others] = v1In(lib.xdr.TransactionEnvelope.fromXdr(text, "base64")).tx.operations
  if (operation?.body.type !== "invokeHostFunction" || others.length > 0) return undefined
  const { hostFunction } = operation.body.invokeHostFunctionOp
  return hostFunction.type === "hostFunctionTypeInvokeContract" ? hostFunction.invokeContract : undefined
}

const invoking = (
  lib: Library,
  contract: string,
  functionName: Xdr.InvokeContractArgs["functionName"] | string,
  args: ReadonlyArray<Xdr.ScVal>
): Xdr.InvokeContractArgs =>
  new lib.xdr.InvokeContractArgs({
    contractAddress: lib.Address.fromString(contract).toScAddress(),
    functionName,
    args: [...args]
  })

const argumentsOf = (lib: Library, given: Forward): ReadonlyArray<Xdr.ScVal> => {
  const { fee, maxFee, relayer, target, token, untilLedger, user } = given
  const { ScVal } = lib.xdr
  return [
    scValToXdr(lib, { address: token }),
    scValToXdr(lib, { i128: toParts(fee) }),
    scValToXdr(lib, { i128: toParts(maxFee) }),
    scValToXdr(lib, { u32: untilLedger }),
    ScVal.scvAddress(target.contractAddress),
    ScVal.scvSymbol(target.functionName),
    ScVal.scvVec(target.args),
    scValToXdr(lib, { address: user }),
    scValToXdr(lib, { address: relayer })
  ]
}

const treeOf = (
  { xdr }: Library,
  call: Xdr.InvokeContractArgs,
  below: ReadonlyArray<Xdr.SorobanAuthorizedInvocation> = []
): Xdr.SorobanAuthorizedInvocation =>
  new xdr.SorobanAuthorizedInvocation({
    function: xdr.SorobanAuthorizedFunction.sorobanAuthorizedFunctionTypeContractFn(call),
    subInvocations: [...below]
  })

/** What the forwarder may do with the user's token. */
const approval = (lib: Library, { forwarder, maxFee, token, untilLedger, user }: Forward) =>
  treeOf(
    lib,
    invoking(lib, token, "approve", [
      scValToXdr(lib, { address: user }),
      scValToXdr(lib, { address: forwarder }),
      scValToXdr(lib, { i128: toParts(maxFee) }),
      scValToXdr(lib, { u32: untilLedger })
    ])
  )

/** What the user authorizes below the forward, besides the approval of the fee, and by which version of credentials. */
export interface BelowForward {
  readonly trees: ReadonlyArray<Xdr.SorobanAuthorizedInvocation>
  /** Whether the user signs `ADDRESS_V2`, as the simulation recorded: the version depends on the protocol of the network. */
  readonly isV2: boolean
}

/** Unsigned. `nonce`: any, and each once. */
const userEntry = (
  lib: Library,
  given: Forward,
  { isV2, trees }: BelowForward,
  nonce: bigint
): Xdr.SorobanAuthorizationEntry => {
  const { ScVal, SorobanAddressCredentials, SorobanAuthorizationEntry, SorobanCredentials } = lib.xdr
  const signed = invoking(lib, given.forwarder, forwardFunction, signedByUser(argumentsOf(lib, given)))
  const credentials = new SorobanAddressCredentials({
    address: lib.Address.fromString(given.user).toScAddress(),
    nonce,
    signatureExpirationLedger: given.untilLedger,
    signature: ScVal.scvVoid()
  })
  return new SorobanAuthorizationEntry({
    credentials: isV2
      ? SorobanCredentials.sorobanCredentialsAddressV2(credentials)
      : SorobanCredentials.sorobanCredentialsAddress(credentials),
    rootInvocation: treeOf(lib, signed, [approval(lib, given), ...trees])
  })
}

/** The relayer is the source, so its signature of the envelope counts for its entry. */
const relayerEntry = (lib: Library, call: Xdr.InvokeContractArgs): Xdr.SorobanAuthorizationEntry => {
  const { SorobanAuthorizationEntry, SorobanCredentials } = lib.xdr
  const credentials = SorobanCredentials.sorobanCredentialsSourceAccount()
  return new SorobanAuthorizationEntry({ credentials, rootInvocation: treeOf(lib, call) })
}

type EnvelopeTerms = Pick<Draft, "fee" | "maxTime" | "sorobanData">

/** Any sequence: the service chooses one when it signs. */
const noSequence = 0n

const calling = (
  lib: Library,
  source: string,
  call: Xdr.InvokeContractArgs,
  auth: ReadonlyArray<Xdr.SorobanAuthorizationEntry>,
  given: EnvelopeTerms,
  networkId: Uint8Array
): UnsignedEnvelope => {
  const { HostFunction, InvokeHostFunctionOp, Operation, OperationBody } = lib.xdr
  const hostFunction = HostFunction.hostFunctionTypeInvokeContract(call)
  const body = OperationBody.invokeHostFunction(new InvokeHostFunctionOp({ hostFunction, auth: [...auth] }))
  const at = { ...given, sequence: noSequence }
  const { envelope } = buildWith(lib, { ...at, source, operations: [] }, networkId)
  return placed(lib, envelope, at, networkId, new Operation({ sourceAccount: null, body }))
}

/** For a simulation: without authorizations, so that it lists those that the call needs. */
export const draftOfForward = (lib: Library, given: Forward, networkId: Uint8Array): string =>
  calling(
    lib,
    given.relayer,
    invoking(lib, given.forwarder, forwardFunction, argumentsOf(lib, given)),
    [],
    { fee: 0n, maxTime: 0n },
    networkId
  ).envelope

/** A call that only reads, for a simulation. */
export const draftOfRead = (
  lib: Library,
  { contract, name, source }: Record<"contract" | "name" | "source", string>,
  networkId: Uint8Array
): string => calling(lib, source, invoking(lib, contract, name, []), [], { fee: 0n, maxTime: 0n }, networkId).envelope

/** What the user authorizes below the forward, from what a simulation recorded for it. */
export const belowForward = (
  lib: Library,
  given: Forward,
  recorded: ReadonlyArray<AuthEntry>
): Result.Result<BelowForward, Refusal> => {
  const { SorobanAuthorizationEntry } = lib.xdr
  const ofForward = recorded.filter(
    ({ root }) => root.call?.contract === given.forwarder && root.call.name === forwardFunction
  )
  const ofRelayer = ofForward.find(({ credentials }) => credentials.kind === "source")
  const ofUser = ofForward.find(
    ({ credentials }) =>
      credentials.kind === "address" && credentials.address === given.user && credentials.delegates.length === 0
  )
  if (recorded.some((entry) => entry !== ofUser && entry !== ofRelayer) || ofRelayer?.root.below.length !== 0) {
    return refuse("auth_not_granted", "the call needs an authorization of somebody else than its user")
  }
  if (ofUser === undefined) return refuse("not_built_here", "the forwarder of the network asks its user for nothing")
  const { credentials, rootInvocation } = SorobanAuthorizationEntry.fromXdr(ofUser.xdr, "base64")
  const approved = textOf(approval(lib, given))
  return Result.succeed({
    trees: rootInvocation.subInvocations.filter((one) => textOf(one) !== approved),
    isV2: credentials.type === "sorobanCredentialsAddressV2"
  })
}

interface BuiltForward extends UnsignedEnvelope {
  /** Base64 of the entry that the user signs. */
  readonly userEntry: string
}

export const buildForward = (
  lib: Library,
  given: Forward,
  { below, nonce, ...more }: EnvelopeTerms & { readonly below: BelowForward; readonly nonce: bigint },
  networkId: Uint8Array
): BuiltForward => {
  const call = invoking(lib, given.forwarder, forwardFunction, argumentsOf(lib, given))
  const ofUser = userEntry(lib, given, below, nonce)
  return {
    ...calling(lib, given.relayer, call, [ofUser, relayerEntry(lib, call)], more, networkId),
    userEntry: textOf(ofUser)
  }
}

/** Hex: the name of a build, whatever the sequence of its envelope is. */
export const buildHashOf = ({ xdr }: Library, text: string, networkId: Uint8Array): string => {
  const { cond, ext, fee, memo, operations, sourceAccount } = v1In(xdr.TransactionEnvelope.fromXdr(text, "base64")).tx
  const tx = new xdr.Transaction({ cond, ext, fee, memo, operations, sourceAccount, seqNum: noSequence })
  return hashOf(networkId, tx.toXdr()).toString("hex")
}

/** Fails if the text is not the canonical base64 of an entry. */
export const entryOf = (lib: Library, text: string): Result.Result<AuthEntry, Refusal> => {
  const expected = "is not the XDR of an authorization entry"
  const entry = reading(() => authOf(lib, lib.xdr.SorobanAuthorizationEntry.fromXdr(text, "base64")), expected)
  return Result.flatMap(entry, (found) => (found.xdr === text ? entry : refuse("xdr_invalid", expected)))
}

/** The envelope of a build with the user's signed entry. */
const withEntry = ({ xdr }: Library, text: string, signed: string): string => {
  const { InvokeHostFunctionOp, Operation, OperationBody, Transaction, TransactionEnvelope, TransactionV1Envelope } =
    xdr
  const { cond, ext, fee, memo, operations, seqNum, sourceAccount } = v1In(
    TransactionEnvelope.fromXdr(text, "base64")
  ).tx
  const replaced = operations.map((operation) => {
    if (operation.body.type !== "invokeHostFunction") return operation
    const { auth, hostFunction } = operation.body.invokeHostFunctionOp
    const entries = [xdr.SorobanAuthorizationEntry.fromXdr(signed, "base64"), ...auth.slice(1)]
    const body = OperationBody.invokeHostFunction(new InvokeHostFunctionOp({ hostFunction, auth: entries }))
    return new Operation({ sourceAccount: operation.sourceAccount, body })
  })
  const tx = new Transaction({ cond, ext, fee, memo, seqNum, sourceAccount, operations: replaced })
  const { signatures } = v1In(TransactionEnvelope.fromXdr(text, "base64"))
  return textOf(TransactionEnvelope.envelopeTypeTx(new TransactionV1Envelope({ tx, signatures })))
}

/** Any sequence: a simulation does not check it. */
const draftSequence = 1n

/** Any time: the simulation does not check it. */
const anyTime = 2n ** 62n

/** An account that is made, with stroops from the account that makes it. */
export const draftOfCreation = (
  lib: Library,
  source: string,
  { address, balance }: { readonly address: string; readonly balance: bigint },
  networkId: Uint8Array
): string =>
  creationOf(lib, { source, address, balance, sequence: draftSequence, maxTime: anyTime }, networkId).envelope

const withoutAuth = (operation: StellarOperation): StellarOperation => {
  if (operation.type === "payment" || operation.auth?.type === "xdr") return operation
  return { ...operation, auth: { type: "none" } }
}

type GivenEnvelope = Pick<StellarRequest, "signed_auth_entry" | "transaction_xdr">

/** The envelope that a request has, with the entry that its user has signed. Undefined: the service builds it from operations. */
export const givenIn = (lib: Library, { signed_auth_entry, transaction_xdr }: GivenEnvelope): string | undefined =>
  transaction_xdr === undefined || signed_auth_entry === undefined
    ? transaction_xdr
    : withEntry(lib, transaction_xdr, signed_auth_entry)

interface Authorizing {
  /** Without the authorizations that the service builds, so that a simulation lists those that the call needs. */
  readonly isRecording?: true
  /** Base64 of the authorizations that a simulation recorded. */
  readonly recorded?: ReadonlyArray<string>
}

/** What the request does, unsigned. */
export const draftOf = (
  address: string,
  { memo, operations, ...request }: StellarRequest,
  networkId: Uint8Array,
  { isRecording, recorded = [] }: Authorizing = {}
): Effect.Effect<string, Refusal> => {
  if (request.transaction_xdr !== undefined) return Effect.map(library, (lib) => givenIn(lib, request) ?? "")
  const own = operations ?? []
  const draft = {
    source: address,
    sequence: draftSequence,
    fee: BigInt(own.length),
    maxTime: anyTime,
    operations: isRecording === true ? own.map(withoutAuth) : own,
    recorded,
    ...present("memo", memo)
  }
  return Effect.flatMap(library, (lib) =>
    Effect.fromResult(
      reading(() => buildWith(lib, draft, networkId).envelope, "an entry of auth is not the XDR of an authorization")
    )
  )
}
