// Envelopes that are changed before they are signed: another place, fee and times, a fee bump around them, signatures.
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import type { Credit } from "../../../domain/transaction/stellar/SponsoredPayment.ts"
import { parse } from "../../../domain/transaction/stellar/StrKey.ts"
import { buildWith, conditionsOf, enveloped, unsigned } from "./StellarEncoding.ts"
import type { Draft, Unsigned } from "./StellarEncoding.ts"
import type { Library } from "./StellarLibrary.ts"
import { hashOf } from "./StellarSignatures.ts"

/** A signature of an account. */
export interface Signature {
  readonly address: string
  readonly signature: Uint8Array
}

/** The last bytes of a key. */
const hintBytes = 4

const decorated = ({ xdr }: Library, { address, signature }: Signature): Xdr.DecoratedSignature => {
  const key = parse(address)?.key ?? new Uint8Array()
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
): Unsigned => {
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
): Unsigned => {
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
): Unsigned => {
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
