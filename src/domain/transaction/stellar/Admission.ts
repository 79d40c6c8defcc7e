// Checks of a send that need its relayer, its network and the time.
import type { Violation } from "../../request/Request.ts"
import { timing } from "../TransactionRequests.ts"
import type { Moment } from "../TransactionValues.ts"
import type { SendStellarTransaction } from "./SendStellarTransaction.ts"
import { defaultValidity } from "./StellarNumbers.ts"
import { parse } from "./StrKey.ts"

export interface Admission {
  readonly now: Moment
  /** Address of the relayer. */
  readonly relayer: string
  /** Name of the relayer's network. */
  readonly network: string
  /** What the policy says: `usersPay` and `highestFeeOf`. */
  readonly usersPay: boolean
  readonly highestFee: bigint | undefined
}

type Rule = (request: SendStellarTransaction, admission: Admission) => Violation | undefined

/** A send without `valid_until` ends two minutes after it may begin. */
const times = timing(defaultValidity)

export const { deadlineOf } = times

const network: Rule = (request, { network }) =>
  request.network === network
    ? undefined
    : { field: "network", message: `must be ${network}, the network of the relayer` }

const source: Rule = ({ operations, source_account }, { relayer }) =>
  operations === undefined || source_account === undefined || source_account === relayer
    ? undefined
    : { field: "source_account", message: `must be ${relayer}, the address of the relayer` }

const strategy: Rule = ({ operations }, { usersPay }) =>
  operations !== undefined && usersPay
    ? { field: "operations", message: "sponsoring_only: the relayer's policy has the fee_payment_strategy user" }
    : undefined

/** Nobody signs a recorded authorization, and the network takes none of an account without its signature. */
const recorded: Rule = ({ operations = [] }) => {
  const signers = operations.flatMap((operation) =>
    operation.type !== "payment" && operation.auth?.type === "addresses" ? operation.auth.signers : []
  )
  const account = signers.find((address) => parse(address)?.kind === "account")
  return account === undefined
    ? undefined
    : {
        field: "operations",
        message: `auth of the type addresses is not signed, and the account ${account} has to sign: give its signed authorization with auth of the type xdr`
      }
}

const fee: Rule = ({ max_fee }, { highestFee }) =>
  max_fee !== undefined && highestFee !== undefined && max_fee > highestFee
    ? { field: "max_fee", message: `must be at most ${highestFee}, the max_fee of the relayer's policy` }
    : undefined

const rules: ReadonlyArray<Rule> = [network, source, strategy, recorded, fee, times.deadline, times.beginning]

/** What is wrong with a request that was decoded, besides `inconsistenciesOf`. Empty: it is admitted. */
export const violationsOf = (request: SendStellarTransaction, admission: Admission): ReadonlyArray<Violation> =>
  rules.flatMap((rule) => rule(request, admission) ?? [])
