// Applies the classic operations: `doApply` of the operations of stellar-core, for the part that tests need.
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import { StrKey, xdr } from "@stellar/stellar-sdk/base"
import { accountIn, availableBalance, keyOf, minimumBalance, newAccount, trustlineIn } from "./Entries.ts"
import type { Account, Changes, Signer, Trustline } from "./Entries.ts"
import { accountOf } from "./Envelope.ts"
import { assetName, done, failed, payment, strictReceive, strictSend, take } from "./Payments.ts"
import type { Applied, Context } from "./Payments.ts"

const { OperationResultTr: tr } = xdr

const accountOfKey = ({ ed25519 }: Xdr.PublicKey): string => StrKey.encodeEd25519PublicKey(ed25519.value)

const isShort = (sponsor: Account, entries: number, changes: Changes): boolean =>
  availableBalance(sponsor, changes) < BigInt(entries) * changes.voted.baseReserve

/**
 * Reserves the entries of an account, of which its sponsor pays for. Undefined: the one that pays has too little. `owner` is
 * not yet written.
 */
const reserve = (
  context: Context,
  owner: Account,
  entries: number
): { owner: Account; sponsor?: string } | undefined => {
  const name = context.sponsors.get(owner.address)
  if (name === undefined) return owner.balance < minimumBalance(owner, context.changes) ? undefined : { owner }
  const sponsor = accountIn(context.changes, name)
  if (sponsor === undefined || isShort(sponsor, entries, context.changes)) return undefined
  context.changes.setAccount({ ...sponsor, sponsoring: sponsor.sponsoring + entries })
  return { owner: { ...owner, sponsored: owner.sponsored + entries }, sponsor: name }
}

const release = (changes: Changes, sponsor: string | undefined, entries: number): void => {
  const account = sponsor === undefined ? undefined : accountIn(changes, sponsor)
  if (account !== undefined) changes.setAccount({ ...account, sponsoring: account.sponsoring - entries })
}

/** Entries of an account of its own. */
const entriesOfAccount = 2

const createAccount = (context: Context, source: string, op: Xdr.CreateAccountOp): Applied => {
  const { CreateAccountResult: results } = xdr
  const { changes, ledger } = context
  const destination = accountOfKey(op.destination)
  const fail = (result: Xdr.CreateAccountResult) => failed(tr.createAccount(result))
  if (accountIn(changes, destination) !== undefined) return fail(results.createAccountAlreadyExist())
  const reserved = reserve(context, newAccount(destination, op.startingBalance, ledger), entriesOfAccount)
  if (reserved === undefined) return fail(results.createAccountLowReserve())
  if (take(changes, source, "native", op.startingBalance) !== "moved") return fail(results.createAccountUnderfunded())
  const { owner, sponsor } = reserved
  changes.setAccount(sponsor === undefined ? owner : { ...owner, sponsor })
  return done(tr.createAccount(results.createAccountSuccess()))
}

const withSigner = (context: Context, account: Account, address: string, weight: number): Account | undefined => {
  const found = account.signers.find((signer) => signer.address === address)
  const others = account.signers.filter((signer) => signer !== found)
  const sorted = (signers: ReadonlyArray<Signer>) => signers.toSorted((a, b) => (a.address < b.address ? -1 : 1))
  if (weight === 0) {
    if (found === undefined) return account
    release(context.changes, found.sponsor, 1)
    const sponsored = account.sponsored - (found.sponsor === undefined ? 0 : 1)
    return { ...account, signers: others, subEntries: account.subEntries - 1, sponsored }
  }
  if (found !== undefined) return { ...account, signers: sorted([...others, { ...found, weight }]) }
  const reserved = reserve(context, { ...account, subEntries: account.subEntries + 1 }, 1)
  if (reserved === undefined) return undefined
  const { owner, sponsor } = reserved
  const signer = { address, weight, ...(sponsor === undefined ? {} : { sponsor }) }
  return { ...owner, signers: sorted([...others, signer]) }
}

const setOptions = (context: Context, source: string, op: Xdr.SetOptionsOp): Applied => {
  const { SetOptionsResult: results } = xdr
  const fail = (result: Xdr.SetOptionsResult) => failed(tr.setOptions(result))
  const account = accountIn(context.changes, source)
  if (account === undefined) return { result: xdr.OperationResult.opNoAccount(), isSuccess: false }
  const changed: Account = {
    ...account,
    masterWeight: op.masterWeight ?? account.masterWeight,
    thresholds: {
      low: op.lowThreshold ?? account.thresholds.low,
      medium: op.medThreshold ?? account.thresholds.medium,
      high: op.highThreshold ?? account.thresholds.high
    }
  }
  if (op.signer === null) {
    context.changes.setAccount(changed)
    return done(tr.setOptions(results.setOptionsSuccess()))
  }
  if (op.signer.key.type !== "signerKeyTypeEd25519") return fail(results.setOptionsBadSigner())
  const address = StrKey.encodeEd25519PublicKey(op.signer.key.ed25519.value)
  if (address === source) return fail(results.setOptionsBadSigner())
  const signed = withSigner(context, changed, address, op.signer.weight)
  if (signed === undefined) return fail(results.setOptionsLowReserve())
  context.changes.setAccount(signed)
  return done(tr.setOptions(results.setOptionsSuccess()))
}

const changeTrust = (context: Context, source: string, { line, limit }: Xdr.ChangeTrustOp): Applied => {
  const { ChangeTrustResult: results } = xdr
  const { changes } = context
  const fail = (result: Xdr.ChangeTrustResult) => failed(tr.changeTrust(result))
  const account = accountIn(changes, source)
  if (account === undefined) return { result: xdr.OperationResult.opNoAccount(), isSuccess: false }
  if (line.type === "assetTypePoolShare" || line.type === "assetTypeNative") return fail(results.changeTrustMalformed())
  const asset = assetName(line)
  const key = keyOf.trustline(source, asset)
  const found = trustlineIn(changes, source, asset)
  const success = () => done(tr.changeTrust(results.changeTrustSuccess()))
  if (asset.endsWith(`:${source}`)) return fail(results.changeTrustSelfNotAllowed())
  if (found !== undefined && limit === 0n) {
    if (found.balance > 0n) return fail(results.changeTrustInvalidLimit())
    release(changes, found.sponsor, 1)
    const sponsored = account.sponsored - (found.sponsor === undefined ? 0 : 1)
    changes.set(key, undefined)
    changes.setAccount({ ...account, subEntries: account.subEntries - 1, sponsored })
    return success()
  }
  if (limit === 0n || (found !== undefined && found.balance > limit)) return fail(results.changeTrustInvalidLimit())
  if (found !== undefined) {
    changes.set(key, { ...found, limit })
    return success()
  }
  if (accountIn(changes, asset.slice(asset.indexOf(":") + 1)) === undefined) return fail(results.changeTrustNoIssuer())
  const reserved = reserve(context, { ...account, subEntries: account.subEntries + 1 }, 1)
  if (reserved === undefined) return fail(results.changeTrustLowReserve())
  const { owner, sponsor } = reserved
  const trustline: Trustline = { kind: "trustline", address: source, asset, balance: 0n, limit }
  changes.setAccount(owner)
  changes.set(key, sponsor === undefined ? trustline : { ...trustline, sponsor })
  return success()
}

const bumpSequence = ({ changes, ledger }: Context, source: string, { bumpTo }: Xdr.BumpSequenceOp): Applied => {
  const account = accountIn(changes, source)
  if (account !== undefined && bumpTo > account.sequence) {
    changes.setAccount({ ...account, sequence: bumpTo, seqLedger: ledger })
  }
  return done(tr.bumpSequence(xdr.BumpSequenceResult.bumpSequenceSuccess()))
}

const accountMerge = ({ changes, ledger }: Context, source: string, destination: string): Applied => {
  const { AccountMergeResult: results } = xdr
  const fail = (result: Xdr.AccountMergeResult) => failed(tr.accountMerge(result))
  const account = accountIn(changes, source)
  const target = accountIn(changes, destination)
  if (account === undefined || source === destination) return fail(results.accountMergeMalformed())
  if (target === undefined) return fail(results.accountMergeNoAccount())
  if (account.subEntries !== account.signers.length) return fail(results.accountMergeHasSubEntries())
  // The account could be created again in this ledger, with a sequence that it has already used.
  if (account.sequence >= BigInt(ledger) << 32n) return fail(results.accountMergeSeqnumTooFar())
  if (account.sponsoring > 0) return fail(results.accountMergeIsSponsor())
  release(changes, account.sponsor, entriesOfAccount)
  for (const { sponsor } of account.signers) release(changes, sponsor, 1)
  changes.set(keyOf.account(source), undefined)
  const kept = accountIn(changes, destination) ?? target
  changes.setAccount({ ...kept, balance: kept.balance + account.balance })
  return done(tr.accountMerge(results.accountMergeSuccess(account.balance)))
}

const beginSponsoring = ({ sponsors }: Context, source: string, op: Xdr.BeginSponsoringFutureReservesOp): Applied => {
  const { BeginSponsoringFutureReservesResult: results } = xdr
  const fail = (result: Xdr.BeginSponsoringFutureReservesResult) => failed(tr.beginSponsoringFutureReserves(result))
  const sponsored = accountOfKey(op.sponsoredId)
  if (sponsored === source) return fail(results.beginSponsoringFutureReservesMalformed())
  if (sponsors.has(sponsored)) return fail(results.beginSponsoringFutureReservesAlreadySponsored())
  if (sponsors.has(source) || [...sponsors.values()].includes(sponsored)) {
    return fail(results.beginSponsoringFutureReservesRecursive())
  }
  sponsors.set(sponsored, source)
  return done(tr.beginSponsoringFutureReserves(results.beginSponsoringFutureReservesSuccess()))
}

const endSponsoring = ({ sponsors }: Context, source: string): Applied => {
  const { EndSponsoringFutureReservesResult: results } = xdr
  return sponsors.delete(source)
    ? done(tr.endSponsoringFutureReserves(results.endSponsoringFutureReservesSuccess()))
    : failed(tr.endSponsoringFutureReserves(results.endSponsoringFutureReservesNotSponsored()))
}

/** Undefined: an operation of contracts, which `Contracts.ts` applies. */
export const apply = (context: Context, source: string, body: Xdr.OperationBody): Applied | undefined => {
  switch (body.type) {
    case "payment":
      return payment(context, source, body.paymentOp)
    case "createAccount":
      return createAccount(context, source, body.createAccountOp)
    case "pathPaymentStrictSend":
      return strictSend(context, source, body.pathPaymentStrictSendOp)
    case "pathPaymentStrictReceive":
      return strictReceive(context, source, body.pathPaymentStrictReceiveOp)
    case "setOptions":
      return setOptions(context, source, body.setOptionsOp)
    case "changeTrust":
      return changeTrust(context, source, body.changeTrustOp)
    case "bumpSequence":
      return bumpSequence(context, source, body.bumpSequenceOp)
    case "accountMerge":
      return accountMerge(context, source, accountOf(body.destination))
    case "beginSponsoringFutureReserves":
      return beginSponsoring(context, source, body.beginSponsoringFutureReservesOp)
    case "endSponsoringFutureReserves":
      return endSponsoring(context, source)
    default:
      return undefined
  }
}
