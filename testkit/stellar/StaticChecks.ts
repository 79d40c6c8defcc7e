// What is wrong with an operation whatever the ledger contains: `doCheckValid` of the operations of stellar-core.
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import { xdr } from "@stellar/stellar-sdk/base"

/** The result of an operation that was looked at: it says itself whether it succeeded. */
const inner = (result: Xdr.OperationResultTr): Xdr.OperationResult => xdr.OperationResult.opInner(result)

const isPositive = (...amounts: ReadonlyArray<bigint>): boolean => amounts.every((amount) => amount > 0n)

/** Thresholds and the weight of the master key are bytes. */
const maxWeight = 255

const isWeight = (weight: number | null): boolean => weight === null || weight <= maxWeight

/** The operations that the stand-in applies. It refuses all others with `opNOT_SUPPORTED`, which stellar-core does not. */
export const problemOf = (body: Xdr.OperationBody): Xdr.OperationResult | undefined => {
  const { OperationResultTr: tr } = xdr
  switch (body.type) {
    case "payment":
      return isPositive(body.paymentOp.amount) ? undefined : inner(tr.payment(xdr.PaymentResult.paymentMalformed()))
    case "createAccount":
      return body.createAccountOp.startingBalance >= 0n
        ? undefined
        : inner(tr.createAccount(xdr.CreateAccountResult.createAccountMalformed()))
    case "pathPaymentStrictSend":
      return isPositive(body.pathPaymentStrictSendOp.sendAmount, body.pathPaymentStrictSendOp.destMin)
        ? undefined
        : inner(tr.pathPaymentStrictSend(xdr.PathPaymentStrictSendResult.pathPaymentStrictSendMalformed()))
    case "pathPaymentStrictReceive":
      return isPositive(body.pathPaymentStrictReceiveOp.sendMax, body.pathPaymentStrictReceiveOp.destAmount)
        ? undefined
        : inner(tr.pathPaymentStrictReceive(xdr.PathPaymentStrictReceiveResult.pathPaymentStrictReceiveMalformed()))
    case "setOptions": {
      const { masterWeight, lowThreshold, medThreshold, highThreshold } = body.setOptionsOp
      return [masterWeight, lowThreshold, medThreshold, highThreshold].every(isWeight)
        ? undefined
        : inner(tr.setOptions(xdr.SetOptionsResult.setOptionsThresholdOutOfRange()))
    }
    case "changeTrust":
      return body.changeTrustOp.limit >= 0n && body.changeTrustOp.line.type !== "assetTypeNative"
        ? undefined
        : inner(tr.changeTrust(xdr.ChangeTrustResult.changeTrustMalformed()))
    case "bumpSequence":
      return body.bumpSequenceOp.bumpTo >= 0n
        ? undefined
        : inner(tr.bumpSequence(xdr.BumpSequenceResult.bumpSequenceBadSeq()))
    case "accountMerge":
    case "beginSponsoringFutureReserves":
    case "endSponsoringFutureReserves":
    case "invokeHostFunction":
    case "restoreFootprint":
    case "extendFootprintTtl":
      return undefined
    default:
      return xdr.OperationResult.opNotSupported()
  }
}

const noAccount = xdr.PublicKey.publicKeyTypeEd25519(new Uint8Array(32))

const noPayment = new xdr.SimplePaymentResult({
  destination: noAccount,
  asset: xdr.Asset.assetTypeNative(),
  amount: 0n
})

/** The result of an operation that was not applied, because another one of its transaction is wrong. */
export const untouched = ({ type }: Xdr.OperationBody): Xdr.OperationResult => {
  const { OperationResultTr: tr } = xdr
  switch (type) {
    case "payment":
      return inner(tr.payment(xdr.PaymentResult.paymentSuccess()))
    case "createAccount":
      return inner(tr.createAccount(xdr.CreateAccountResult.createAccountSuccess()))
    case "pathPaymentStrictSend": {
      const none = new xdr.PathPaymentStrictSendResultSuccess({ offers: [], last: noPayment })
      return inner(tr.pathPaymentStrictSend(xdr.PathPaymentStrictSendResult.pathPaymentStrictSendSuccess(none)))
    }
    case "pathPaymentStrictReceive": {
      const none = new xdr.PathPaymentStrictReceiveResultSuccess({ offers: [], last: noPayment })
      const result = xdr.PathPaymentStrictReceiveResult.pathPaymentStrictReceiveSuccess(none)
      return inner(tr.pathPaymentStrictReceive(result))
    }
    case "setOptions":
      return inner(tr.setOptions(xdr.SetOptionsResult.setOptionsSuccess()))
    case "changeTrust":
      return inner(tr.changeTrust(xdr.ChangeTrustResult.changeTrustSuccess()))
    case "bumpSequence":
      return inner(tr.bumpSequence(xdr.BumpSequenceResult.bumpSequenceSuccess()))
    case "accountMerge":
      return inner(tr.accountMerge(xdr.AccountMergeResult.accountMergeSuccess(0n)))
    case "beginSponsoringFutureReserves": {
      const result = xdr.BeginSponsoringFutureReservesResult.beginSponsoringFutureReservesSuccess()
      return inner(tr.beginSponsoringFutureReserves(result))
    }
    case "endSponsoringFutureReserves": {
      const result = xdr.EndSponsoringFutureReservesResult.endSponsoringFutureReservesSuccess()
      return inner(tr.endSponsoringFutureReserves(result))
    }
    case "invokeHostFunction": {
      const result = xdr.InvokeHostFunctionResult.invokeHostFunctionSuccess(new Uint8Array(32))
      return inner(tr.invokeHostFunction(result))
    }
    case "restoreFootprint":
      return inner(tr.restoreFootprint(xdr.RestoreFootprintResult.restoreFootprintSuccess()))
    case "extendFootprintTtl":
      return inner(tr.extendFootprintTtl(xdr.ExtendFootprintTtlResult.extendFootprintTtlSuccess()))
    default:
      return xdr.OperationResult.opNotSupported()
  }
}
