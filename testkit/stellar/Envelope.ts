// A submitted envelope, decoded, with what the rules of queue and ledger ask about it.
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import { StrKey, xdr } from "@stellar/stellar-sdk/base"
import { createHash } from "node:crypto"

export const sha256 = (...parts: ReadonlyArray<Uint8Array>): Buffer => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part)
  return hash.digest()
}

export const networkIdOf = (passphrase: string): Buffer => sha256(Buffer.from(passphrase))

/** `EnvelopeType`: the bytes that precede a transaction in the text that is signed. */
const envelopeType = { transaction: 2, feeBump: 5 } as const

const payloadHash = (networkId: Uint8Array, type: number, transaction: Uint8Array): Buffer =>
  sha256(networkId, new Uint8Array([0, 0, 0, type]), transaction)

/** The account, whether or not it is written as a muxed account. */
export const accountOf = (muxed: Xdr.MuxedAccount): string =>
  StrKey.encodeEd25519PublicKey(muxed.type === "keyTypeEd25519" ? muxed.ed25519.value : muxed.med25519.ed25519.value)

export interface Signed {
  /** Hex. */
  readonly hash: string
  readonly bytes: Uint8Array
  readonly signatures: ReadonlyArray<Xdr.DecoratedSignature>
}

interface Bump extends Signed {
  readonly source: string
  readonly fee: bigint
}

export interface Envelope {
  readonly text: string
  readonly transaction: Xdr.Transaction
  /** The transaction without its fee bump. */
  readonly inner: Signed
  readonly bump?: Bump
  /** The account whose sequence is used. */
  readonly source: string
  readonly sequence: bigint
  readonly isSoroban: boolean
  readonly resourceFee: bigint
}

/** Hash of the whole envelope, in hex. */
export const hashOf = ({ bump, inner }: Envelope): string => (bump ?? inner).hash

export const feeSourceOf = ({ bump, source }: Envelope): string => bump?.source ?? source

/** `getNumOperations`: a fee bump counts as one more. */
export const operationsOf = ({ transaction, bump }: Envelope): bigint =>
  BigInt(transaction.operations.length + (bump === undefined ? 0 : 1))

/** `getFullFee`. */
export const fullFeeOf = ({ bump, transaction }: Envelope): bigint => bump?.fee ?? BigInt(transaction.fee)

/** `getInclusionFee`: the full fee without the fee of the resources. */
export const inclusionFeeOf = (envelope: Envelope): bigint => fullFeeOf(envelope) - envelope.resourceFee

export const innerInclusionFeeOf = ({ transaction, resourceFee }: Envelope): bigint =>
  BigInt(transaction.fee) - resourceFee

const sorobanOperations: ReadonlySet<string> = new Set(["invokeHostFunction", "extendFootprintTtl", "restoreFootprint"])

/** stellar-core turns an envelope of the former format into the present one before it checks it. */
const fromV0 = ({ tx, signatures }: Xdr.TransactionV0Envelope): Xdr.TransactionV1Envelope =>
  new xdr.TransactionV1Envelope({
    tx: new xdr.Transaction({
      sourceAccount: xdr.MuxedAccount.keyTypeEd25519(tx.sourceAccountEd25519),
      fee: tx.fee,
      seqNum: tx.seqNum,
      cond: tx.timeBounds === null ? xdr.Preconditions.precondNone() : xdr.Preconditions.precondTime(tx.timeBounds),
      memo: tx.memo,
      operations: tx.operations,
      ext: xdr.TransactionExt.v0()
    }),
    signatures
  })

const v1Of = (envelope: Xdr.TransactionEnvelope): Xdr.TransactionV1Envelope => {
  if (envelope.type === "envelopeTypeTxV0") return fromV0(envelope.v0)
  return envelope.type === "envelopeTypeTx" ? envelope.v1 : envelope.feeBump.tx.innerTx.v1
}

const bumpOf = (networkId: Uint8Array, { tx, signatures }: Xdr.FeeBumpTransactionEnvelope): Bump => {
  const bytes = payloadHash(networkId, envelopeType.feeBump, tx.toXdr())
  return { hash: bytes.toString("hex"), bytes, signatures, source: accountOf(tx.feeSource), fee: tx.fee }
}

/** Undefined: no valid XDR, which stellar-rpc answers with `invalid_xdr`. */
export const decode = (networkId: Uint8Array, text: string): Envelope | undefined => {
  let envelope: Xdr.TransactionEnvelope
  try {
    envelope = xdr.TransactionEnvelope.fromXdr(text, "base64")
  } catch {
    return undefined
  }
  const { tx, signatures } = v1Of(envelope)
  const bytes = payloadHash(networkId, envelopeType.transaction, tx.toXdr())
  return {
    text,
    transaction: tx,
    inner: { hash: bytes.toString("hex"), bytes, signatures },
    ...(envelope.type === "envelopeTypeTxFeeBump" ? { bump: bumpOf(networkId, envelope.feeBump) } : {}),
    source: accountOf(tx.sourceAccount),
    sequence: tx.seqNum,
    isSoroban: tx.operations.some(({ body }) => sorobanOperations.has(body.type)),
    resourceFee: tx.ext.type === "sorobanData" ? tx.ext.sorobanData.resourceFee : 0n
  }
}
