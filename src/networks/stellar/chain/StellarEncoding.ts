// Builds envelopes in XDR, and changes them before they are signed: place, fee, times, a fee bump around them, channels, signatures.
import { Effect } from "effect"
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import type { Credit } from "../rules/SponsoredPayment.ts"
import type { ChannelWork } from "../rules/Stellar.ts"
import type { Asset, Auth, Memo, StellarOperation, Wasm } from "../rules/StellarRequests.ts"
import { parseAddress } from "../../../domain/chain/StrKey.ts"
import { hashOf, library, scValToXdr, signedHash } from "./StellarLibrary.ts"
import type { Library } from "./StellarLibrary.ts"

/** What a transaction is built from. The place, the fee and the times are decided by its lane. */
export interface Draft {
  readonly source: string
  readonly sequence: bigint
  /** Stroops, with the fee of the resources. */
  readonly fee: bigint
  /** Unix seconds. */
  readonly maxTime: bigint
  /** The ledger from which on it is too late. Absent without authorizations that expire. */
  readonly maxLedger?: number
  readonly memo?: Memo
  readonly operations: ReadonlyArray<StellarOperation>
  /** Base64 of the authorizations that a simulation recorded, for `auth` of the type `addresses`. */
  readonly recorded?: ReadonlyArray<string>
  /** Base64 of the Soroban data. */
  readonly sorobanData?: string
}

const memoOf = ({ xdr }: Library, memo: Memo | undefined): Xdr.Memo => {
  switch (memo?.type) {
    case "text":
      return xdr.Memo.memoText(memo.value)
    case "id":
      return xdr.Memo.memoId(memo.value)
    case "hash":
      return xdr.Memo.memoHash(Buffer.from(memo.value, "hex"))
    case "return":
      return xdr.Memo.memoReturn(Buffer.from(memo.value, "hex"))
    default:
      return xdr.Memo.memoNone()
  }
}

const assetOf = (lib: Library, asset: Asset): Xdr.Asset =>
  (asset.type === "native" ? lib.Asset.native() : new lib.Asset(asset.code, asset.issuer)).toXDRObject()

/** Zeros, if the request gives none. */
const noSalt = "00".repeat(32)

type Call = Exclude<StellarOperation, { readonly type: "payment" }>

const bytesOf = (wasm: Wasm): Buffer =>
  "hex" in wasm ? Buffer.from(wasm.hex, "hex") : Buffer.from(wasm.base64, "base64")

const contractCreationOf = (
  lib: Library,
  operation: Extract<Call, { readonly type: "create_contract" }>
): Xdr.CreateContractArgsV2 => {
  const { constructor_args = [], salt = noSalt, source, wasm_hash } = operation
  const { ContractExecutable, ContractIdPreimage, ContractIdPreimageFromAddress, CreateContractArgsV2 } = lib.xdr
  const address = lib.Address.fromString(source.from === "address" ? source.address : source.contract).toScAddress()
  const preimage = new ContractIdPreimageFromAddress({ address, salt: Buffer.from(salt, "hex") })
  return new CreateContractArgsV2({
    contractIdPreimage: ContractIdPreimage.contractIdPreimageFromAddress(preimage),
    executable: ContractExecutable.contractExecutableWasm(Buffer.from(wasm_hash, "hex")),
    constructorArgs: constructor_args.map((value) => scValToXdr(lib, value))
  })
}

interface Host {
  readonly host: Xdr.HostFunction
  /** The call that the source authorizes. An upload has none. */
  readonly root?: Xdr.SorobanAuthorizedFunction
}

const hostOf = (lib: Library, operation: Call): Host => {
  const { Address, xdr } = lib
  const { HostFunction, SorobanAuthorizedFunction } = xdr
  switch (operation.type) {
    case "invoke_contract": {
      const call = new xdr.InvokeContractArgs({
        contractAddress: Address.fromString(operation.contract_address).toScAddress(),
        functionName: operation.function_name,
        args: operation.args.map((value) => scValToXdr(lib, value))
      })
      return {
        host: HostFunction.hostFunctionTypeInvokeContract(call),
        root: SorobanAuthorizedFunction.sorobanAuthorizedFunctionTypeContractFn(call)
      }
    }
    case "create_contract": {
      const creation = contractCreationOf(lib, operation)
      return {
        host: HostFunction.hostFunctionTypeCreateContractV2(creation),
        root: SorobanAuthorizedFunction.sorobanAuthorizedFunctionTypeCreateContractV2HostFn(creation)
      }
    }
    case "upload_wasm":
      return { host: HostFunction.hostFunctionTypeUploadContractWasm(bytesOf(operation.wasm)) }
  }
}

const entriesOf = (
  { xdr }: Library,
  auth: Auth = { type: "source_account" },
  { root }: Host,
  recorded: ReadonlyArray<string>
): Array<Xdr.SorobanAuthorizationEntry> => {
  const { SorobanAuthorizationEntry, SorobanAuthorizedInvocation, SorobanCredentials } = xdr
  const parse = (entry: string) => SorobanAuthorizationEntry.fromXdr(entry, "base64")
  if (auth.type === "xdr") return auth.entries.map(parse)
  if (auth.type === "addresses") return recorded.map(parse)
  if (auth.type === "none" || root === undefined) return []
  return [
    new SorobanAuthorizationEntry({
      credentials: SorobanCredentials.sorobanCredentialsSourceAccount(),
      rootInvocation: new SorobanAuthorizedInvocation({ function: root, subInvocations: [] })
    })
  ]
}

const bodyOf = (lib: Library, operation: StellarOperation, recorded: ReadonlyArray<string>): Xdr.OperationBody => {
  const { InvokeHostFunctionOp, OperationBody, PaymentOp } = lib.xdr
  if (operation.type === "payment") {
    const { amount, asset, destination } = operation
    const to = lib.decodeAddressToMuxedAccount(destination)
    return OperationBody.payment(new PaymentOp({ destination: to, asset: assetOf(lib, asset), amount }))
  }
  const host = hostOf(lib, operation)
  const auth = entriesOf(lib, operation.auth, host, recorded)
  return OperationBody.invokeHostFunction(new InvokeHostFunctionOp({ hostFunction: host.host, auth }))
}

const conditionsOf = (
  { xdr }: Library,
  { maxLedger, maxTime }: Pick<Draft, "maxLedger" | "maxTime">
): Xdr.Preconditions => {
  const { LedgerBounds, Preconditions, PreconditionsV2, TimeBounds } = xdr
  const timeBounds = new TimeBounds({ minTime: 0n, maxTime })
  if (maxLedger === undefined) return Preconditions.precondTime(timeBounds)
  return Preconditions.precondV2(
    new PreconditionsV2({
      timeBounds,
      ledgerBounds: new LedgerBounds({ minLedger: 0, maxLedger }),
      minSeqNum: null,
      minSeqAge: 0n,
      minSeqLedgerGap: 0,
      extraSigners: []
    })
  )
}

/** Throws if an entry of `auth` is no XDR. */
const transactionOf = (lib: Library, draft: Draft): Xdr.Transaction => {
  const { fee, memo, operations, recorded = [], sequence, sorobanData, source } = draft
  const { Operation, SorobanTransactionData, Transaction, TransactionExt } = lib.xdr
  return new Transaction({
    sourceAccount: lib.decodeAddressToMuxedAccount(source),
    fee: Number(fee),
    seqNum: sequence,
    cond: conditionsOf(lib, draft),
    memo: memoOf(lib, memo),
    operations: operations.map(
      (operation) => new Operation({ sourceAccount: null, body: bodyOf(lib, operation, recorded) })
    ),
    ext:
      sorobanData === undefined
        ? TransactionExt.v0()
        : TransactionExt.sorobanData(SorobanTransactionData.fromXdr(sorobanData, "base64"))
  })
}

/** A transaction without signatures. */
export interface UnsignedEnvelope {
  /** Base64 of the envelope. */
  readonly envelope: string
  /** What its signers sign. */
  readonly hash: Uint8Array
}

/** Bytes of the number of signatures, at the end of an envelope without any. */
const countBytes = 4

/** What signers sign: an envelope begins with its type and the transaction, and its signatures follow. */
const unsigned = (envelope: Xdr.TransactionEnvelope, networkId: Uint8Array): UnsignedEnvelope => {
  const bytes = Buffer.from(envelope.toXdr())
  return { envelope: bytes.toString("base64"), hash: signedHash(networkId, bytes.subarray(0, -countBytes)) }
}

/** The envelope of a transaction without signatures. */
const enveloped = ({ xdr }: Library, tx: Xdr.Transaction, networkId: Uint8Array): UnsignedEnvelope =>
  unsigned(xdr.TransactionEnvelope.envelopeTypeTx(new xdr.TransactionV1Envelope({ tx, signatures: [] })), networkId)

/** Throws if an entry of `auth` is no XDR. */
export const buildWith = (lib: Library, draft: Draft, networkId: Uint8Array): UnsignedEnvelope =>
  enveloped(lib, transactionOf(lib, draft), networkId)

export const build = Effect.fn("StellarEncoding.build")((draft: Draft, networkId: Uint8Array) =>
  Effect.map(library, (lib) => buildWith(lib, draft, networkId))
)

// Envelopes that are changed before they are signed: another place, fee and times, a fee bump around them, signatures.

/** A signature of an account. */
export interface Signature {
  readonly address: string
  readonly signature: Uint8Array
}

/** The last bytes of a key. */
const hintBytes = 4

const decorated = ({ xdr }: Library, { address, signature }: Signature): Xdr.DecoratedSignature => {
  const key = parseAddress(address)?.key ?? new Uint8Array()
  return new xdr.DecoratedSignature({ hint: key.slice(-hintBytes), signature })
}

/** The envelope with more signatures. Dies if it is one that the service never signs. */
export const withSignatures = (
  lib: Library,
  text: string,
  added: ReadonlyArray<Signature>
): Xdr.TransactionEnvelope => {
  const { FeeBumpTransactionEnvelope, TransactionEnvelope, TransactionV1Envelope } = lib.xdr
  const envelope = TransactionEnvelope.fromXdr(text, "base64")
  const signatures = added.map((signature) => decorated(lib, signature))
  if (envelope.type === "envelopeTypeTxFeeBump") {
    const { tx, signatures: former } = envelope.feeBump
    return TransactionEnvelope.envelopeTypeTxFeeBump(
      new FeeBumpTransactionEnvelope({ tx, signatures: [...former, ...signatures] })
    )
  }
  const { tx, signatures: former } = v1In(envelope)
  return TransactionEnvelope.envelopeTypeTx(new TransactionV1Envelope({ tx, signatures: [...former, ...signatures] }))
}

/** The transaction in an envelope. Dies if the envelope is of a kind that the service never signs. */
export const v1In = (envelope: Xdr.TransactionEnvelope): Xdr.TransactionV1Envelope => {
  if (envelope.type !== "envelopeTypeTx") throw new Error(`an envelope of the type ${envelope.type} is not signed`)
  return envelope.v1
}

/** What the service decides about an envelope that a caller has built. */
export type Replaced = Pick<Draft, "sequence" | "fee" | "maxTime" | "maxLedger" | "sorobanData">

interface CreditPayment {
  readonly credit: Credit
  readonly amount: bigint
  readonly destination: string
}

export const paymentOf = (lib: Library, { amount, credit, destination }: CreditPayment): Xdr.Operation => {
  const { code, issuer } = credit
  const payment = new lib.xdr.PaymentOp({
    destination: lib.decodeAddressToMuxedAccount(destination),
    asset: new lib.Asset(code, issuer).toXDRObject(),
    amount
  })
  return new lib.xdr.Operation({ sourceAccount: null, body: lib.xdr.OperationBody.payment(payment) })
}

/** An envelope, unsigned, at another place, with the fee and the times of the service. `added`: its last operation. */
export const placed = (
  lib: Library,
  text: string,
  given: Replaced,
  networkId: Uint8Array,
  added?: Xdr.Operation
): UnsignedEnvelope => {
  const { SorobanTransactionData, Transaction, TransactionEnvelope, TransactionExt } = lib.xdr
  const { sourceAccount, memo, operations, ext } = v1In(TransactionEnvelope.fromXdr(text, "base64")).tx
  const tx = new Transaction({
    sourceAccount,
    fee: Number(given.fee),
    seqNum: given.sequence,
    cond: conditionsOf(lib, given),
    memo,
    operations: added === undefined ? operations : [...operations, added],
    ext:
      given.sorobanData === undefined
        ? ext
        : TransactionExt.sorobanData(SorobanTransactionData.fromXdr(given.sorobanData, "base64"))
  })
  return enveloped(lib, tx, networkId)
}

/** An unsigned envelope that restores the entries in its Soroban data. */
export const restoring = (
  lib: Library,
  { source, ...given }: Replaced & Pick<Draft, "source">,
  networkId: Uint8Array
): UnsignedEnvelope => {
  const { ExtensionPoint, Operation, OperationBody, RestoreFootprintOp } = lib.xdr
  const body = OperationBody.restoreFootprint(new RestoreFootprintOp({ ext: ExtensionPoint.v0() }))
  const { envelope } = buildWith(lib, { ...given, source, operations: [] }, networkId)
  return placed(lib, envelope, given, networkId, new Operation({ sourceAccount: null, body }))
}

/** A fee bump, unsigned, around an envelope that is signed. */
export const bumped = (
  lib: Library,
  inner: string,
  { feeSource, fee }: { readonly feeSource: string; readonly fee: bigint },
  networkId: Uint8Array
): UnsignedEnvelope => {
  const {
    FeeBumpTransaction,
    FeeBumpTransactionEnvelope,
    FeeBumpTransactionExt,
    FeeBumpTransactionInnerTx,
    TransactionEnvelope
  } = lib.xdr
  const tx = new FeeBumpTransaction({
    feeSource: lib.decodeAddressToMuxedAccount(feeSource),
    fee,
    innerTx: FeeBumpTransactionInnerTx.envelopeTypeTx(v1In(TransactionEnvelope.fromXdr(inner, "base64"))),
    ext: FeeBumpTransactionExt.v0()
  })
  const envelope = new FeeBumpTransactionEnvelope({ tx, signatures: [] })
  return unsigned(TransactionEnvelope.envelopeTypeTxFeeBump(envelope), networkId)
}

/** The hash of a signed envelope in hex. */
export const hashIn = (lib: Library, text: string, networkId: Uint8Array): string => {
  const envelope = lib.xdr.TransactionEnvelope.fromXdr(text, "base64")
  const hash =
    envelope.type === "envelopeTypeTxFeeBump"
      ? hashOf(networkId, envelope.feeBump.tx.toXdr(), "feeBump")
      : hashOf(networkId, v1In(envelope).tx.toXdr())
  return hash.toString("hex")
}

// Envelopes of channels: those that make and end channels, and transactions of the relayer that use the sequence of a channel.

/** The relayer can sign for the channel, so that it can end the account if the key of the channel is lost. */
const relayerWeight = 1

const publicKeyOf = (lib: Library, address: string): Xdr.PublicKey =>
  lib.xdr.PublicKey.publicKeyTypeEd25519(parseAddress(address)?.key ?? new Uint8Array())

const signerOf = ({ xdr }: Library, address: string): Xdr.Signer =>
  new xdr.Signer({
    key: xdr.SignerKey.signerKeyTypeEd25519(parseAddress(address)?.key ?? new Uint8Array()),
    weight: relayerWeight
  })

/** The relayer pays the reserves of the account. The account gets no XLM. */
const channelCreationOf = (lib: Library, relayer: string, channel: string): ReadonlyArray<Xdr.Operation> => {
  const { BeginSponsoringFutureReservesOp, CreateAccountOp, Operation, OperationBody, SetOptionsOp } = lib.xdr
  const byRelayer = (body: Xdr.OperationBody) => new Operation({ sourceAccount: null, body })
  const byChannel = (body: Xdr.OperationBody) =>
    new Operation({ sourceAccount: lib.decodeAddressToMuxedAccount(channel), body })
  const account = publicKeyOf(lib, channel)
  const options = new SetOptionsOp({
    inflationDest: null,
    clearFlags: null,
    setFlags: null,
    masterWeight: null,
    lowThreshold: null,
    medThreshold: null,
    highThreshold: null,
    homeDomain: null,
    signer: signerOf(lib, relayer)
  })
  const beginning = new BeginSponsoringFutureReservesOp({ sponsoredId: account })
  return [
    byRelayer(OperationBody.beginSponsoringFutureReserves(beginning)),
    byRelayer(OperationBody.createAccount(new CreateAccountOp({ destination: account, startingBalance: 0n }))),
    byChannel(OperationBody.setOptions(options)),
    byChannel(OperationBody.endSponsoringFutureReserves())
  ]
}

/** An account that another one makes, with stroops of its own. */
export interface AccountCreation extends Pick<Draft, "source" | "sequence" | "maxTime"> {
  readonly address: string
  readonly balance: bigint
}

/** Its place, its fee and its times are exchanged before it is signed. */
export const creationOf = (
  lib: Library,
  { address, balance, ...draft }: AccountCreation,
  networkId: Uint8Array
): UnsignedEnvelope => {
  const { CreateAccountOp, Memo, Operation, OperationBody, Transaction, TransactionExt } = lib.xdr
  const creation = new CreateAccountOp({ destination: publicKeyOf(lib, address), startingBalance: balance })
  const tx = new Transaction({
    sourceAccount: lib.decodeAddressToMuxedAccount(draft.source),
    fee: 1,
    seqNum: draft.sequence,
    cond: conditionsOf(lib, draft),
    memo: Memo.memoNone(),
    operations: [new Operation({ sourceAccount: null, body: OperationBody.createAccount(creation) })],
    ext: TransactionExt.v0()
  })
  return enveloped(lib, tx, networkId)
}

const channelMergeOf = (lib: Library, relayer: string, channel: string): Xdr.Operation =>
  new lib.xdr.Operation({
    sourceAccount: lib.decodeAddressToMuxedAccount(channel),
    body: lib.xdr.OperationBody.accountMerge(lib.decodeAddressToMuxedAccount(relayer))
  })

/** The envelope that does the work on channels, at a place of the relayer's own account. */
export const channelWorkOf = (
  lib: Library,
  relayer: string,
  { addresses, kind }: ChannelWork,
  given: Replaced,
  networkId: Uint8Array
): UnsignedEnvelope => {
  const { Memo, Transaction, TransactionExt } = lib.xdr
  const tx = new Transaction({
    sourceAccount: lib.decodeAddressToMuxedAccount(relayer),
    fee: Number(given.fee),
    seqNum: given.sequence,
    cond: conditionsOf(lib, given),
    memo: Memo.memoNone(),
    operations: addresses.flatMap((channel) =>
      kind === "create" ? channelCreationOf(lib, relayer, channel) : [channelMergeOf(lib, relayer, channel)]
    ),
    ext: TransactionExt.v0()
  })
  return enveloped(lib, tx, networkId)
}

/** False for calls without credentials of their source, for uploads, and for operations that only pay rent. */
const needsRelayer = ({ body }: Xdr.Operation): boolean => {
  switch (body.type) {
    case "extendFootprintTtl":
    case "restoreFootprint":
      return false
    case "invokeHostFunction":
      return body.invokeHostFunctionOp.auth.some(
        ({ credentials }) => credentials.type === "sorobanCredentialsSourceAccount"
      )
    default:
      return true
  }
}

export interface OnChannel extends UnsignedEnvelope {
  /** Whether an operation acts for the relayer, so that the relayer signs the inner envelope, too. */
  readonly needsRelayer: boolean
}

/** The fee that the envelope offers, in stroops. `operations`: its number of operations. */
type InnerFee = (operations: number) => bigint

/** An unsigned envelope of the relayer at the sequence of a channel, which is its source. The relayer acts in its operations. */
export const onChannel = (
  lib: Library,
  text: string,
  { relayer, channel, fee }: { readonly relayer: string; readonly channel: string; readonly fee: InnerFee },
  networkId: Uint8Array
): OnChannel => {
  const { Operation, Transaction, TransactionEnvelope } = lib.xdr
  const { cond, ext, memo, operations, seqNum } = v1In(TransactionEnvelope.fromXdr(text, "base64")).tx
  const acting = lib.decodeAddressToMuxedAccount(relayer)
  const tx = new Transaction({
    sourceAccount: lib.decodeAddressToMuxedAccount(channel),
    fee: Number(fee(operations.length)),
    seqNum,
    cond,
    memo,
    operations: operations.map(
      (operation) => new Operation({ sourceAccount: needsRelayer(operation) ? acting : null, body: operation.body })
    ),
    ext
  })
  return { ...enveloped(lib, tx, networkId), needsRelayer: operations.some(needsRelayer) }
}
