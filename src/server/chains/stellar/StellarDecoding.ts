// Makes plain data of envelopes in XDR.
import { Effect, Result } from "effect"
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import type { Envelope, TransactionEnvelope } from "../../../domain/transaction/stellar/Envelope.ts"
import { refuse } from "../../../domain/transaction/stellar/Refusal.ts"
import type { Refusal } from "../../../domain/transaction/stellar/Refusal.ts"
import { maxXdrLength } from "../../../domain/transaction/stellar/StellarNumbers.ts"
import { library, reading as readingXdr, textOf } from "./StellarLibrary.ts"
import type { Library } from "./StellarLibrary.ts"
import { operationOf, partyOf } from "./StellarOperations.ts"
import { candidatesOf, hashOf } from "./StellarSignatures.ts"

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

/** Throws if a value has no plain form. */
const transactionOf = (
  lib: Library,
  { tx, signatures }: Xdr.TransactionV1Envelope,
  { networkId, known }: Reading
): TransactionEnvelope => {
  const source = partyOf(tx.sourceAccount)
  const bytes = hashOf(networkId, tx.toXdr())
  return {
    kind: "transaction",
    hash: bytes.toString("hex"),
    source,
    fee: BigInt(tx.fee),
    sequence: tx.seqNum,
    ...boundsOf(tx.cond),
    hasMemo: tx.memo.type !== "memoNone",
    operations: tx.operations.map((operation) => operationOf(lib, operation)),
    ...(tx.ext.type === "sorobanData" ? { resourceFee: tx.ext.sorobanData.resourceFee } : {}),
    signatureCount: signatures.length,
    signatures: candidatesOf(bytes, signatures, [source.address, ...known])
  }
}

/** The library refuses trailing bytes, and values that nest too deep. */
const parse = (lib: Library, text: string): Result.Result<Xdr.TransactionEnvelope, Refusal> =>
  readingXdr(() => lib.xdr.TransactionEnvelope.fromXdr(text, "base64"), "is not the XDR of an envelope")

/** Decoded, encoded again and compared, so that one envelope has one text. */
export const decodeWith = (lib: Library, text: string, reading: Reading): Result.Result<Envelope, Refusal> => {
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
  return readingXdr(() => transactionOf(lib, envelope.v1, reading), "has a value that is not valid")
}

export const decode = Effect.fn("StellarDecoding.decode")((text: string, reading: Reading) =>
  Effect.map(library, (lib) => decodeWith(lib, text, reading))
)
