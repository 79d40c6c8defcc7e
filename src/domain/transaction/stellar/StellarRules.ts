// The rules of stellar, as the core asks for them. The rest of this folder is behind them.
import { Result } from "effect"
import { maxChannels } from "../../relayer/Policy.ts"
import { cause } from "../Cause.ts"
import { cancelOpen, deadlineViolations, replaced } from "../Rules.ts"
import type { Cancellation, Rules, TransactionConflict } from "../Rules.ts"
import type { Transaction } from "../Transaction.ts"
import type { Moment } from "../TransactionValues.ts"
import type { Stellar, StellarRequest } from "./Stellar.ts"
import { momentOf } from "./Stellar.ts"
import { CountersJson, FactsJson, OfferJson, ReceiptJson, RefusalJson, RequestJson } from "./StellarCodecs.ts"
import { decide } from "./StellarDecision.ts"
import { hear } from "./StellarHear.ts"
import { leastPollInterval, maxGuests, pollsPerLedger } from "./StellarNumbers.ts"
import { resolve } from "./StellarRestore.ts"
import { placeOf, survey } from "./StellarPlaces.ts"
import { show } from "./StellarShow.ts"
import { refusedLast } from "./StellarEnds.ts"
import { stellarTermsOf } from "./StellarTerms.ts"
import { StellarTransactionResponse } from "./StellarTransactionResponse.ts"
import { explain } from "./StellarWords.ts"

/** Until when what was signed can be applied. */
const lastMaxTime = ({ attempts }: Transaction<Stellar>): Moment | undefined =>
  attempts.length === 0 ? undefined : momentOf(Math.max(...attempts.map(({ offer }) => offer.maxTime)))

/** After the first signature, a cancel only prevents further envelopes. */
const cancel = (transaction: Transaction<Stellar>): Result.Result<Cancellation, TransactionConflict> => {
  const decided = cancelOpen(transaction)
  if (decided !== undefined) return decided
  const { restored, state } = transaction
  if (state === "pending" && !restored) return Result.succeed({ _tag: "finish" })
  const until = lastMaxTime(transaction)
  const why = restored ? cause("restored_unproven") : cause("canceling", until === undefined ? {} : { until })
  return Result.succeed({ _tag: "intend", intent: "cancel", cause: why })
}

/** The user has signed what is to be executed: another version would be another transaction. */
const replacementViolations: Rules<Stellar>["replacementViolations"] = (transaction, _, validUntil) => {
  const { build, guest } = transaction.facts
  if (guest !== undefined || build !== undefined) {
    return [{ field: "transaction_xdr", message: "is signed by its user, so it cannot be replaced; send another one" }]
  }
  return deadlineViolations(transaction, validUntil)
}

/** Arguments of calls can be secret until they are applied. */
const auditedOf = ({ operations, transaction_xdr }: StellarRequest) =>
  operations === undefined
    ? { xdr_length: transaction_xdr?.length ?? 0 }
    : { operations: operations.map(({ type }) => type) }

export const stellarRules: Rules<Stellar> = {
  type: "stellar",
  request: RequestJson,
  facts: FactsJson,
  offer: OfferJson,
  refusal: RefusalJson,
  counters: CountersJson,
  receipt: ReceiptJson,
  shown: StellarTransactionResponse,
  targetOf: ({ relayer, network }) =>
    relayer.network_type === "stellar" && network.network_type === "stellar" ? { relayer, network } : undefined,
  // Networks of different names can be the same chain: the passphrase decides.
  laneOf: ({ relayer, network }) => ({
    chain: `stellar:${network.passphrase}`,
    address: relayer.address,
    window: 1 + maxGuests + maxChannels
  }),
  pollInterval: ({ network }) => Math.max(leastPollInterval, network.average_blocktime_ms / pollsPerLedger),
  auditedOf,
  identityOf: (_, { build, guest }) => guest?.innerHash ?? build,
  exclusiveOf: (_, { guest }) => (guest === undefined ? undefined : `${guest.account}:${guest.sequence}`),
  termsOf: (target, transaction) => stellarTermsOf(target, transaction),
  survey,
  placeOf,
  decide,
  costOf: (request, { fee, out }) => (request === undefined ? fee : fee + out),
  maxFeeOf: ({ fee }) => fee,
  hear: (_, attempt, answers, at) => hear(attempt, answers, at),
  couldBe: () => false,
  refusedLast,
  replacementViolations,
  replaced,
  cancel,
  resolve,
  explain,
  show
}
