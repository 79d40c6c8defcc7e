// Checks of the fields of a send against each other. The texts are those of the common wire format.
import type { Violation } from "../../request/Request.ts"
import type { SendStellarTransaction } from "./SendStellarTransaction.ts"
import { maxOperations } from "./StellarNumbers.ts"
import { isSoroban } from "./StellarOperation.ts"

/** A request to send, quote or build. Requests to quote or build have fewer fields. */
type Checked = Omit<SendStellarTransaction, "network">

type Rule = (request: Checked) => Violation | undefined

const source: Rule = ({ operations, transaction_xdr }) => {
  if (operations !== undefined && transaction_xdr !== undefined) {
    return { field: "operations", message: "Cannot provide both operations and transaction_xdr" }
  }
  return operations === undefined && transaction_xdr === undefined
    ? { field: "operations", message: "Must provide either operations or transaction_xdr" }
    : undefined
}

const count: Rule = ({ operations }) => {
  if (operations?.length === 0) return { field: "operations", message: "Transaction must have at least one operation" }
  return operations !== undefined && operations.length > maxOperations
    ? {
        field: "operations",
        message: `Transaction has ${operations.length} operations, but maximum allowed is ${maxOperations}`
      }
    : undefined
}

const soroban: Rule = ({ memo, operations = [] }) => {
  const calls = operations.filter(isSoroban).length
  if (calls === 0) return undefined
  if (calls > 1) return { field: "operations", message: "Transaction can contain at most one Soroban operation" }
  if (operations.length > 1) {
    const message = "Soroban operations must be exclusive - no other operations allowed in the same transaction"
    return { field: "operations", message }
  }
  return memo === undefined || memo.type === "none"
    ? undefined
    : { field: "memo", message: "Soroban operations cannot have a memo (except MemoNone)" }
}

const memo: Rule = ({ memo, transaction_xdr }) =>
  memo !== undefined && transaction_xdr !== undefined
    ? { field: "memo", message: "is only valid with operations: an envelope has its own memo" }
    : undefined

const bump: Rule = ({ fee_bump, operations }) =>
  fee_bump === true && operations !== undefined
    ? { field: "fee_bump", message: "Cannot request fee_bump with operations mode" }
    : undefined

const authorization: Rule = ({ fee_bump, signed_auth_entry, transaction_xdr }) => {
  if (signed_auth_entry === undefined) return undefined
  if (transaction_xdr === undefined) {
    return { field: "signed_auth_entry", message: "signed_auth_entry requires transaction_xdr to be provided" }
  }
  return fee_bump === true
    ? { field: "signed_auth_entry", message: "Cannot use both signed_auth_entry and fee_bump" }
    : undefined
}

const sequence: Rule = ({ fee_bump, sequence, signed_auth_entry }) =>
  sequence !== undefined && (fee_bump === true || signed_auth_entry !== undefined)
    ? { field: "sequence", message: "cannot be given for an envelope that is signed" }
    : undefined

/** The user pays for the call only. */
const restore: Rule = ({ restore_footprint, signed_auth_entry }) =>
  restore_footprint === true && signed_auth_entry !== undefined
    ? { field: "restore_footprint", message: "cannot be used with signed_auth_entry: the user pays only for the call" }
    : undefined

const rules: ReadonlyArray<Rule> = [source, count, soroban, memo, bump, authorization, sequence, restore]

export const inconsistenciesOf = (request: Checked): ReadonlyArray<Violation> =>
  rules.flatMap((rule) => rule(request) ?? [])
