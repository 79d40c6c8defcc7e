// Envelopes of channels: those that make and end channels, and transactions of the relayer that use the sequence of a channel.
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import type { ChannelWork } from "../../../domain/transaction/stellar/Stellar.ts"
import { parse } from "../../../domain/transaction/stellar/StrKey.ts"
import { conditionsOf, enveloped } from "./StellarEncoding.ts"
import type { Unsigned } from "./StellarEncoding.ts"
import { v1In } from "./StellarEnvelopes.ts"
import type { Replaced } from "./StellarEnvelopes.ts"
import type { Library } from "./StellarLibrary.ts"

/** The relayer can sign for the channel, so that it can end the account if the key of the channel is lost. */
const relayerWeight = 1

const keyOf = (lib: Library, address: string): Xdr.PublicKey =>
  lib.xdr.PublicKey.publicKeyTypeEd25519(parse(address)?.key ?? new Uint8Array())

const signerOf = ({ xdr }: Library, address: string): Xdr.Signer =>
  new xdr.Signer({
    key: xdr.SignerKey.signerKeyTypeEd25519(parse(address)?.key ?? new Uint8Array()),
    weight: relayerWeight
  })

/** The relayer pays the reserves of the account. The account gets no XLM. */
const creationOf = (lib: Library, relayer: string, channel: string): ReadonlyArray<Xdr.Operation> => {
  const { BeginSponsoringFutureReservesOp, CreateAccountOp, Operation, OperationBody, SetOptionsOp } = lib.xdr
  const byRelayer = (body: Xdr.OperationBody) => new Operation({ sourceAccount: null, body })
  const byChannel = (body: Xdr.OperationBody) =>
    new Operation({ sourceAccount: lib.decodeAddressToMuxedAccount(channel), body })
  const account = keyOf(lib, channel)
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

const mergeOf = (lib: Library, relayer: string, channel: string): Xdr.Operation =>
  new lib.xdr.Operation({
    sourceAccount: lib.decodeAddressToMuxedAccount(channel),
    body: lib.xdr.OperationBody.accountMerge(lib.decodeAddressToMuxedAccount(relayer))
  })

/** The envelope that does the work on channels, at a place of the relayer's own account. */
export const workOf = (
  lib: Library,
  relayer: string,
  { addresses, kind }: ChannelWork,
  given: Replaced,
  networkId: Uint8Array
): Unsigned => {
  const { Memo, Transaction, TransactionExt } = lib.xdr
  const tx = new Transaction({
    sourceAccount: lib.decodeAddressToMuxedAccount(relayer),
    fee: Number(given.fee),
    seqNum: given.sequence,
    cond: conditionsOf(lib, given),
    memo: Memo.memoNone(),
    operations: addresses.flatMap((channel) =>
      kind === "create" ? creationOf(lib, relayer, channel) : [mergeOf(lib, relayer, channel)]
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

export interface OnChannel extends Unsigned {
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
