// Applies payments: they move XLM or credit between accounts.
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import { Asset, xdr } from "@stellar/stellar-sdk/base"
import { accountIn, availableBalance, keyOf, newAccount, publicKeyOf, trustlineIn } from "./Entries.ts"
import type { Account, Changes } from "./Entries.ts"
import { accountOf } from "./Envelope.ts"

/** What the operations of a transaction share. */
export interface Context {
  readonly changes: Changes
  readonly ledger: number
  /** Sponsors, by the account whose reserves they pay until the end of the transaction. */
  readonly sponsors: Map<string, string>
}

export interface Applied {
  readonly result: Xdr.OperationResult
  readonly isSuccess: boolean
}

const { OperationResultTr: tr } = xdr

export const done = (result: Xdr.OperationResultTr): Applied => ({
  result: xdr.OperationResult.opInner(result),
  isSuccess: true
})

export const failed = (result: Xdr.OperationResultTr): Applied => ({ ...done(result), isSuccess: false })

/** The highest amount and the highest sequence. */
const maxInt64 = 2n ** 63n - 1n

/** `CODE:ISSUER`, or `native`. */
export const assetName = (asset: Xdr.Asset): string => Asset.fromOperation(asset).toString()

const add = (changes: Changes, account: Account, amount: bigint): void =>
  changes.setAccount({ ...account, balance: account.balance + amount })

type Moved = "moved" | "underfunded" | "noTrust" | "srcNoTrust" | "lineFull" | "noDestination"

/** Takes an amount of an asset from an account. An issuer makes what it sends. */
export const take = (changes: Changes, address: string, asset: string, amount: bigint): Moved => {
  if (asset === "native") {
    const account = accountIn(changes, address)
    if (account === undefined || availableBalance(account, changes) < amount) return "underfunded"
    add(changes, account, -amount)
    return "moved"
  }
  if (asset.endsWith(`:${address}`)) return "moved"
  const line = trustlineIn(changes, address, asset)
  if (line === undefined) return "srcNoTrust"
  if (line.balance < amount) return "underfunded"
  changes.set(keyOf.trustline(address, asset), { ...line, balance: line.balance - amount })
  return "moved"
}

const give = (changes: Changes, address: string, asset: string, amount: bigint): Moved => {
  const account = accountIn(changes, address)
  if (account === undefined) return "noDestination"
  if (asset === "native") {
    if (account.balance + amount > maxInt64) return "lineFull"
    add(changes, account, amount)
    return "moved"
  }
  if (asset.endsWith(`:${address}`)) return "moved"
  const line = trustlineIn(changes, address, asset)
  if (line === undefined) return "noTrust"
  if (line.balance + amount > line.limit) return "lineFull"
  changes.set(keyOf.trustline(address, asset), { ...line, balance: line.balance + amount })
  return "moved"
}

/** Moves XLM for a contract. Since protocol 26, an account that does not exist is created (CAP-73). */
export const moveNative = (changes: Changes, from: string, to: string, amount: bigint, ledger: number): boolean => {
  if (take(changes, from, "native", amount) !== "moved") return false
  if (accountIn(changes, to) !== undefined || !to.startsWith("G"))
    return give(changes, to, "native", amount) === "moved"
  const created = newAccount(to, amount, ledger)
  if (availableBalance(created, changes) < 0n) return false
  changes.setAccount(created)
  return true
}

const paymentResults = {
  underfunded: xdr.PaymentResult.paymentUnderfunded,
  noTrust: xdr.PaymentResult.paymentNoTrust,
  srcNoTrust: xdr.PaymentResult.paymentSrcNoTrust,
  lineFull: xdr.PaymentResult.paymentLineFull,
  noDestination: xdr.PaymentResult.paymentNoDestination
}

export const payment = ({ changes }: Context, source: string, op: Xdr.PaymentOp): Applied => {
  const destination = accountOf(op.destination)
  const asset = assetName(op.asset)
  // `PaymentOpFrame::doApply` is a path payment, which looks for the destination before it takes anything.
  if (accountIn(changes, destination) === undefined) return failed(tr.payment(xdr.PaymentResult.paymentNoDestination()))
  const taken = take(changes, source, asset, op.amount)
  const moved = taken === "moved" ? give(changes, destination, asset, op.amount) : taken
  return moved === "moved"
    ? done(tr.payment(xdr.PaymentResult.paymentSuccess()))
    : failed(tr.payment(paymentResults[moved]()))
}

/** Units of the destination's asset per unit that is sent, instead of the offers of an order book. */
const pathRate = 2n

const paid = (destination: string, asset: Xdr.Asset, amount: bigint) => ({
  offers: [],
  last: new xdr.SimplePaymentResult({ destination: publicKeyOf(destination), asset, amount })
})

export const strictSend = ({ changes }: Context, source: string, op: Xdr.PathPaymentStrictSendOp): Applied => {
  const { PathPaymentStrictSendResult: results } = xdr
  const destination = accountOf(op.destination)
  const amount = op.sendAmount * pathRate
  const fail = (result: Xdr.PathPaymentStrictSendResult) => failed(tr.pathPaymentStrictSend(result))
  if (accountIn(changes, destination) === undefined) return fail(results.pathPaymentStrictSendNoDestination())
  if (amount < op.destMin) return fail(results.pathPaymentStrictSendUnderDestmin())
  const taken = take(changes, source, assetName(op.sendAsset), op.sendAmount)
  if (taken === "srcNoTrust") return fail(results.pathPaymentStrictSendSrcNoTrust())
  if (taken !== "moved") return fail(results.pathPaymentStrictSendUnderfunded())
  const given = give(changes, destination, assetName(op.destAsset), amount)
  if (given === "noTrust") return fail(results.pathPaymentStrictSendNoTrust())
  if (given !== "moved") return fail(results.pathPaymentStrictSendLineFull())
  const success = new xdr.PathPaymentStrictSendResultSuccess(paid(destination, op.destAsset, amount))
  return done(tr.pathPaymentStrictSend(results.pathPaymentStrictSendSuccess(success)))
}

export const strictReceive = ({ changes }: Context, source: string, op: Xdr.PathPaymentStrictReceiveOp): Applied => {
  const { PathPaymentStrictReceiveResult: results } = xdr
  const destination = accountOf(op.destination)
  const amount = (op.destAmount + pathRate - 1n) / pathRate
  const fail = (result: Xdr.PathPaymentStrictReceiveResult) => failed(tr.pathPaymentStrictReceive(result))
  if (accountIn(changes, destination) === undefined) return fail(results.pathPaymentStrictReceiveNoDestination())
  if (amount > op.sendMax) return fail(results.pathPaymentStrictReceiveOverSendmax())
  const taken = take(changes, source, assetName(op.sendAsset), amount)
  if (taken === "srcNoTrust") return fail(results.pathPaymentStrictReceiveSrcNoTrust())
  if (taken !== "moved") return fail(results.pathPaymentStrictReceiveUnderfunded())
  const given = give(changes, destination, assetName(op.destAsset), op.destAmount)
  if (given === "noTrust") return fail(results.pathPaymentStrictReceiveNoTrust())
  if (given !== "moved") return fail(results.pathPaymentStrictReceiveLineFull())
  const success = new xdr.PathPaymentStrictReceiveResultSuccess(paid(destination, op.destAsset, op.destAmount))
  return done(tr.pathPaymentStrictReceive(results.pathPaymentStrictReceiveSuccess(success)))
}
