// Makes plain data of envelopes in XDR for the guard, with the terms that the guard compares them with.
import { Effect, Result } from "effect"
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import { present } from "../../core/Presentation.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import { refuse } from "../rules/Envelope.ts"
import type {
  AssetName,
  AuthEntry,
  Call,
  Credentials,
  Envelope,
  GuardTerms,
  HostFunction,
  Invocation,
  Operation,
  Party,
  Refusal,
  Taken,
  TransactionEnvelope
} from "../rules/Envelope.ts"
import type { StellarTarget } from "../rules/Stellar.ts"
import { baseFee, baseReserve, maxXdrLength } from "../rules/StellarNumbers.ts"
import { guardTermsOf } from "../rules/StellarTerms.ts"
import { accountAddress, accountMeantBy } from "../../../domain/chain/StrKey.ts"
import {
  candidatesOf,
  hashOf,
  library,
  reading as readingXdr,
  scAddressOf,
  scValFromXdr,
  textOf
} from "./StellarLibrary.ts"
import type { Library } from "./StellarLibrary.ts"

// Operations of envelopes as plain data.

export const partyOf = (account: Xdr.MuxedAccount): Party =>
  account.type === "keyTypeEd25519"
    ? { address: accountAddress(account.ed25519.value), isMuxed: false }
    : { address: accountAddress(account.med25519.ed25519.value), isMuxed: true }

export const keyAddress = ({ ed25519 }: Xdr.PublicKey): string => accountAddress(ed25519.value)

/** The code without the zeros that fill it up. */
const codeOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1").replace(/\0+$/, "")

export const assetOf = (asset: Xdr.Asset | Xdr.ChangeTrustAsset | Xdr.TrustLineAsset): AssetName => {
  switch (asset.type) {
    case "assetTypeNative":
      return "native"
    case "assetTypeCreditAlphanum4":
      return `${codeOf(asset.alphaNum4.assetCode.value)}:${keyAddress(asset.alphaNum4.issuer)}`
    case "assetTypeCreditAlphanum12":
      return `${codeOf(asset.alphaNum12.assetCode.value)}:${keyAddress(asset.alphaNum12.issuer)}`
    default:
      return "pool"
  }
}

const callOf = (lib: Library, { contractAddress, functionName, args }: Xdr.InvokeContractArgs): Call => ({
  contract: scAddressOf(lib, contractAddress),
  name: functionName.toString(),
  args: args.map((value) => scValFromXdr(lib, value))
})

const invocationOf = (
  lib: Library,
  { function: root, subInvocations }: Xdr.SorobanAuthorizedInvocation
): Invocation => ({
  ...(root.type === "sorobanAuthorizedFunctionTypeContractFn" ? { call: callOf(lib, root.contractFn) } : {}),
  below: subInvocations.map((one) => invocationOf(lib, one))
})

/** A muxed spelling means the account of its key. */
const meantBy = (lib: Library, spelled: Xdr.ScAddress): string => {
  const address = scAddressOf(lib, spelled)
  return accountMeantBy(address) ?? address
}

/** Delegates, and their own delegates. */
const delegatesIn = (lib: Library, delegates: ReadonlyArray<Xdr.SorobanDelegateSignature>): ReadonlyArray<string> =>
  delegates.flatMap(({ address, nestedDelegates }) => [meantBy(lib, address), ...delegatesIn(lib, nestedDelegates)])

const credentialsOf = (lib: Library, credentials: Xdr.SorobanCredentials): Credentials => {
  const of = (
    { address, signatureExpirationLedger }: Xdr.SorobanAddressCredentials,
    delegates: ReadonlyArray<Xdr.SorobanDelegateSignature> = []
  ): Credentials => ({
    kind: "address",
    address: meantBy(lib, address),
    untilLedger: signatureExpirationLedger,
    delegates: delegatesIn(lib, delegates)
  })
  switch (credentials.type) {
    case "sorobanCredentialsSourceAccount":
      return { kind: "source" }
    case "sorobanCredentialsAddress":
      return of(credentials.address)
    case "sorobanCredentialsAddressV2":
      return of(credentials.addressV2)
    case "sorobanCredentialsAddressWithDelegates":
      return of(credentials.addressWithDelegates.addressCredentials, credentials.addressWithDelegates.delegates)
    default:
      return unsupported(credentials)
  }
}

/** The library is newer than this code. */
const unsupported = ({ type }: { readonly type: string }): Credentials => ({ kind: "unsupported", name: type })

/** The credentials of an entry with other values. Those of the source stay as they are. */
const recredentialed = (
  lib: Library,
  { credentials, rootInvocation }: Xdr.SorobanAuthorizationEntry,
  over: Partial<Pick<Xdr.SorobanAddressCredentials, "signature" | "signatureExpirationLedger">>
): Xdr.SorobanAuthorizationEntry => {
  const { SorobanAddressCredentials, SorobanAuthorizationEntry, SorobanCredentials } = lib.xdr
  const changed = ({ address, nonce, signature, signatureExpirationLedger }: Xdr.SorobanAddressCredentials) =>
    new SorobanAddressCredentials({ address, nonce, signature, signatureExpirationLedger, ...over })
  const given =
    credentials.type === "sorobanCredentialsAddress"
      ? SorobanCredentials.sorobanCredentialsAddress(changed(credentials.address))
      : credentials.type === "sorobanCredentialsAddressV2"
        ? SorobanCredentials.sorobanCredentialsAddressV2(changed(credentials.addressV2))
        : credentials
  return new SorobanAuthorizationEntry({ credentials: given, rootInvocation })
}

/** The entry as its owner would sign it. One with delegates stays as it is: the service builds none, and so compares none. */
const unsignedOf = (lib: Library, entry: Xdr.SorobanAuthorizationEntry): Xdr.SorobanAuthorizationEntry =>
  recredentialed(lib, entry, { signature: lib.xdr.ScVal.scvVoid() })

/** Base64 of a recorded entry that is valid up to a ledger. */
export const entryValidUntil = (lib: Library, text: string, signatureExpirationLedger: number): string =>
  textOf(recredentialed(lib, lib.xdr.SorobanAuthorizationEntry.fromXdr(text, "base64"), { signatureExpirationLedger }))

export const authOf = (lib: Library, entry: Xdr.SorobanAuthorizationEntry): AuthEntry => ({
  xdr: textOf(entry),
  unsigned: textOf(unsignedOf(lib, entry)),
  credentials: credentialsOf(lib, entry.credentials),
  root: invocationOf(lib, entry.rootInvocation)
})

const hostOf = (lib: Library, host: Xdr.HostFunction): HostFunction => {
  switch (host.type) {
    case "hostFunctionTypeInvokeContract":
      return { kind: "call", call: callOf(lib, host.invokeContract) }
    case "hostFunctionTypeUploadContractWasm":
      return { kind: "upload" }
    case "hostFunctionTypeCreateContract":
    case "hostFunctionTypeCreateContractV2":
      return { kind: "creation" }
  }
}

const soldFor = (buyAmount: bigint, { n, d }: Xdr.Price): bigint =>
  d === 0 ? 0n : (buyAmount * BigInt(n) + BigInt(d) - 1n) / BigInt(d)

interface Effects {
  readonly takes: ReadonlyArray<Taken>
  readonly receivers: ReadonlyArray<string>
}

const none: Effects = { takes: [], receivers: [] }

const taking = (asset: AssetName, amount: bigint, receivers: ReadonlyArray<string> = []): Effects => ({
  takes: [{ asset, amount }],
  receivers
})

/** The assets of a pool are not in the operation: both amounts count as XLM. */
const deposit = ({ maxAmountA, maxAmountB }: Xdr.LiquidityPoolDepositOp): Effects =>
  taking("native", maxAmountA + maxAmountB)

type SupportedOperation =
  | "payment"
  | "pathPaymentStrictReceive"
  | "pathPaymentStrictSend"
  | "changeTrust"
  | "invokeHostFunction"

type Other = Exclude<Xdr.OperationBody, { readonly type: SupportedOperation }>

const effectsOf = (body: Other): Effects => {
  switch (body.type) {
    case "createAccount": {
      const { destination, startingBalance } = body.createAccountOp
      return taking("native", startingBalance, [keyAddress(destination)])
    }
    case "manageSellOffer":
      return taking(assetOf(body.manageSellOfferOp.selling), body.manageSellOfferOp.amount)
    case "createPassiveSellOffer":
      return taking(assetOf(body.createPassiveSellOfferOp.selling), body.createPassiveSellOfferOp.amount)
    case "manageBuyOffer": {
      const { buyAmount, price, selling } = body.manageBuyOfferOp
      return taking(assetOf(selling), soldFor(buyAmount, price))
    }
    case "createClaimableBalance": {
      const { amount, asset, claimants } = body.createClaimableBalanceOp
      return taking(
        assetOf(asset),
        amount,
        claimants.map(({ v0 }) => keyAddress(v0.destination))
      )
    }
    case "liquidityPoolDeposit":
      return deposit(body.liquidityPoolDepositOp)
    case "accountMerge":
      return { takes: [], receivers: [partyOf(body.destination).address] }
    default:
      return none
  }
}

const bodyOf = (lib: Library, body: Xdr.OperationBody): Operation => {
  switch (body.type) {
    case "payment": {
      const { amount, asset, destination } = body.paymentOp
      return { type: "payment", destination: partyOf(destination), asset: assetOf(asset), amount }
    }
    case "pathPaymentStrictReceive": {
      const { destination, sendAsset, sendMax } = body.pathPaymentStrictReceiveOp
      return { type: body.type, destination: partyOf(destination), sendAsset: assetOf(sendAsset), sendMax }
    }
    case "pathPaymentStrictSend": {
      const { destination, sendAsset, sendAmount } = body.pathPaymentStrictSendOp
      return { type: body.type, destination: partyOf(destination), sendAsset: assetOf(sendAsset), sendMax: sendAmount }
    }
    case "changeTrust":
      return { type: "changeTrust", asset: assetOf(body.changeTrustOp.line), limit: body.changeTrustOp.limit }
    case "invokeHostFunction": {
      const { auth, hostFunction } = body.invokeHostFunctionOp
      return { type: body.type, host: hostOf(lib, hostFunction), auth: auth.map((entry) => authOf(lib, entry)) }
    }
    default:
      return { type: body.type, ...effectsOf(body) }
  }
}

const operationOf = (lib: Library, { body, sourceAccount }: Xdr.Operation): Operation => ({
  ...bodyOf(lib, body),
  ...(sourceAccount === null ? {} : { source: partyOf(sourceAccount) })
})

/** Standard alphabet with padding, and nothing else: the library also takes white space and the alphabet of URLs. */
const base64 = /^[A-Za-z0-9+/]+={0,2}$/

const boundsOf = (
  conditions: Xdr.Preconditions
): Pick<TransactionEnvelope, "timeBounds" | "ledgerBounds" | "preconditions"> => {
  if (conditions.type === "precondNone") return { preconditions: [] }
  if (conditions.type === "precondTime") {
    const { minTime, maxTime } = conditions.timeBounds
    return { timeBounds: { minTime, maxTime }, preconditions: [] }
  }
  const { timeBounds, ledgerBounds, minSeqNum, minSeqAge, minSeqLedgerGap, extraSigners } = conditions.v2
  return {
    ...(timeBounds === null ? {} : { timeBounds: { minTime: timeBounds.minTime, maxTime: timeBounds.maxTime } }),
    ...(ledgerBounds === null
      ? {}
      : { ledgerBounds: { minLedger: ledgerBounds.minLedger, maxLedger: ledgerBounds.maxLedger } }),
    preconditions: [
      ...(minSeqNum === null ? [] : ["minSeqNum"]),
      ...(minSeqAge === 0n ? [] : ["minSeqAge"]),
      ...(minSeqLedgerGap === 0 ? [] : ["minSeqLedgerGap"]),
      ...(extraSigners.length === 0 ? [] : ["extraSigners"])
    ]
  }
}

/** `known`: accounts whose signatures are recognized, besides that of the source. */
export interface Reading {
  readonly networkId: Uint8Array
  readonly known: Iterable<string>
}

/** An envelope of a kind that the guard refuses. */
type OtherEnvelope = Exclude<Envelope, TransactionEnvelope>

/** What an envelope says to every reader. A reader finds out whose its signatures are from the accounts that it knows. */
interface Decoded {
  readonly plain: Omit<TransactionEnvelope, "signatures">
  readonly hash: Uint8Array
  readonly signatures: ReadonlyArray<Xdr.DecoratedSignature>
}

/** Throws if a value has no plain form. */
const transactionOf = (lib: Library, { tx, signatures }: Xdr.TransactionV1Envelope, networkId: Uint8Array): Decoded => {
  const hash = hashOf(networkId, tx.toXdr())
  return {
    hash,
    signatures,
    plain: {
      kind: "transaction",
      hash: hash.toString("hex"),
      source: partyOf(tx.sourceAccount),
      fee: BigInt(tx.fee),
      sequence: tx.seqNum,
      ...boundsOf(tx.cond),
      hasMemo: tx.memo.type !== "memoNone",
      operations: tx.operations.map((operation) => operationOf(lib, operation)),
      ...(tx.ext.type === "sorobanData" ? { resourceFee: tx.ext.sorobanData.resourceFee } : {}),
      signatureCount: signatures.length
    }
  }
}

const notValid = "has a value that is not valid"

/** The library refuses trailing bytes, and values that nest too deep. */
const parse = (lib: Library, text: string): Result.Result<Xdr.TransactionEnvelope, Refusal> =>
  readingXdr(() => lib.xdr.TransactionEnvelope.fromXdr(text, "base64"), "is not the XDR of an envelope")

/** The newest envelopes that are kept. */
const maxKept = 512

/** Characters of the longest envelope that is kept: a payment has about 300, and all together a few megabytes. */
const longestKept = 4096

/** By text, in the network of the id. An envelope of a user is decoded when it is named, accepted, prepared and signed. */
const kept = new Map<string, Decoded | OtherEnvelope>()

const keep = (name: string, decoded: Decoded | OtherEnvelope): void => {
  const oldest = kept.size < maxKept ? undefined : kept.keys().next().value
  if (oldest !== undefined) kept.delete(oldest)
  kept.set(name, decoded)
}

/** With whether the signatures of the known accounts fit. */
const readBy = (decoded: Decoded | OtherEnvelope, known: Iterable<string>): Result.Result<Envelope, Refusal> => {
  if ("kind" in decoded) return Result.succeed(decoded)
  const { hash, plain, signatures } = decoded
  return readingXdr(
    () => ({ ...plain, signatures: candidatesOf(hash, signatures, [plain.source.address, ...known]) }),
    notValid
  )
}

/** Decoded, encoded again and compared, so that one envelope has one text. */
export const decodeWith = (lib: Library, text: string, reading: Reading): Result.Result<Envelope, Refusal> => {
  const { known, networkId } = reading
  if (text.length > longestKept) return Result.flatMap(decodeAnew(lib, text, networkId), (one) => readBy(one, known))
  const name = `${Buffer.from(networkId).toString("latin1")}${text}`
  const before = kept.get(name)
  if (before !== undefined) return readBy(before, known)
  return Result.flatMap(decodeAnew(lib, text, networkId), (decoded) => {
    keep(name, decoded)
    return readBy(decoded, known)
  })
}

const decodeAnew = (
  lib: Library,
  text: string,
  networkId: Uint8Array
): Result.Result<Decoded | OtherEnvelope, Refusal> => {
  if (text.length > maxXdrLength) return refuse("xdr_encoding", `expected at most ${maxXdrLength} characters`)
  if (!base64.test(text) || text.length % 4 !== 0) {
    return refuse("xdr_encoding", "expected base64 of the standard alphabet, with padding and without white space")
  }
  const parsed = parse(lib, text)
  if (Result.isFailure(parsed)) return Result.fail(parsed.failure)
  const envelope = parsed.success
  if (textOf(envelope) !== text) return refuse("xdr_not_canonical", "is not the canonical text of its envelope")
  if (envelope.type === "envelopeTypeTxV0") return Result.succeed({ kind: "v0" })
  if (envelope.type === "envelopeTypeTxFeeBump") return Result.succeed({ kind: "feeBump" })
  return readingXdr(() => transactionOf(lib, envelope.v1, networkId), notValid)
}

export const decode = Effect.fn("StellarDecoding.decode")((text: string, reading: Reading) =>
  Effect.map(library, (lib) => decodeWith(lib, text, reading))
)

// What the guard compares envelopes of a relayer with. Admission and lanes make it only here.

const contracts = new Map<string, string>()

/** The contract of XLM, which follows from the network. */
const nativeContractOf = (lib: Library, passphrase: string): string => {
  const found = contracts.get(passphrase) ?? lib.Asset.native().contractId(passphrase)
  contracts.set(passphrase, found)
  return found
}

export interface Guarding {
  readonly target: StellarTarget
  /** Accounts of the service on this network. */
  readonly own: ReadonlySet<string>
  /** Stroops that an envelope may cost, as the request says. */
  readonly maxFee: bigint | undefined
  readonly now: Moment
}

/**
 * The rate is the lowest one: a higher one of the market is held, not refused. The reserve is that of the public network; a lane, which has
 * read that of its network, replaces it.
 */
export const termsOf = (lib: Library, { target, own, maxFee, now }: Guarding): GuardTerms => ({
  ...guardTermsOf(target, maxFee),
  relayer: target.relayer.address,
  own,
  ...present("forwarder", target.network.fee_forwarder),
  nativeContract: nativeContractOf(lib, target.network.passphrase),
  now: Math.floor(now / 1000),
  rate: baseFee,
  baseReserve
})
