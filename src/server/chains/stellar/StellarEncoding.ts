// Builds transactions in XDR from requests of the operations mode.
import { Effect } from "effect"
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import type { Asset, Auth, Memo, StellarOperation, Wasm } from "../../../domain/transaction/stellar/StellarOperation.ts"
import { library } from "./StellarLibrary.ts"
import type { Library } from "./StellarLibrary.ts"
import { toXdr } from "./StellarScVals.ts"
import { signedHash } from "./StellarSignatures.ts"

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

const creationOf = (
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
    constructorArgs: constructor_args.map((value) => toXdr(lib, value))
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
        args: operation.args.map((value) => toXdr(lib, value))
      })
      return {
        host: HostFunction.hostFunctionTypeInvokeContract(call),
        root: SorobanAuthorizedFunction.sorobanAuthorizedFunctionTypeContractFn(call)
      }
    }
    case "create_contract": {
      const creation = creationOf(lib, operation)
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

export const conditionsOf = (
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
export interface Unsigned {
  /** Base64 of the envelope. */
  readonly envelope: string
  /** What its signers sign. */
  readonly hash: Uint8Array
}

/** Bytes of the number of signatures, at the end of an envelope without any. */
const countBytes = 4

/** What signers sign: an envelope begins with its type and the transaction, and its signatures follow. */
export const unsigned = (envelope: Xdr.TransactionEnvelope, networkId: Uint8Array): Unsigned => {
  const bytes = Buffer.from(envelope.toXdr())
  return { envelope: bytes.toString("base64"), hash: signedHash(networkId, bytes.subarray(0, -countBytes)) }
}

/** The envelope of a transaction without signatures. */
export const enveloped = ({ xdr }: Library, tx: Xdr.Transaction, networkId: Uint8Array): Unsigned =>
  unsigned(xdr.TransactionEnvelope.envelopeTypeTx(new xdr.TransactionV1Envelope({ tx, signatures: [] })), networkId)

/** Throws if an entry of `auth` is no XDR. */
export const buildWith = (lib: Library, draft: Draft, networkId: Uint8Array): Unsigned =>
  enveloped(lib, transactionOf(lib, draft), networkId)

export const build = Effect.fn("StellarEncoding.build")((draft: Draft, networkId: Uint8Array) =>
  Effect.map(library, (lib) => buildWith(lib, draft, networkId))
)
