// The rules of evm, as the core asks for them. The rest of this folder is behind them.
import { Schema } from "effect"
import { canonical } from "../../chain/Address.ts"
import { isReceiverAllowed } from "./Admission.ts"
import { decide } from "./Decision.ts"
import { nonceOf } from "./Evm.ts"
import type { Evm, EvmSurvey } from "./Evm.ts"
import { cancel, replacementViolations } from "./EvmChanges.ts"
import { OfferJson, ReceiptJson, RefusalJson, RequestJson } from "./EvmCodecs.ts"
import { evmTermsOf } from "./EvmTerms.ts"
import { EvmTransaction } from "./EvmTransaction.ts"
import { explain } from "./EvmWords.ts"
import { couldBe } from "./ForeignTransaction.ts"
import { costOf, maxFeesOf } from "./Funds.ts"
import { networkNumbers, pollInterval } from "./NetworkNumbers.ts"
import { unknownRefusalsBeforeHold } from "./EvmNumbers.ts"
import { speedOf } from "./Offer.ts"
import { hear } from "./Sending.ts"
import { show } from "./Show.ts"
import { replaced } from "../Rules.ts"
import type { Rules } from "../Rules.ts"
import { currentAttempts, isInFlight, newestRequest } from "../Transaction.ts"
import type { Transaction } from "../Transaction.ts"
import { fasterOf } from "../TransactionValues.ts"
import { predecessors } from "./Predecessors.ts"

const isAccepted = (transaction: Transaction<Evm>): boolean =>
  currentAttempts(transaction).some(({ outcome }) => outcome === "accepted")

/** Those behind it would be refused as well, or wait for it. */
const isRefusedByAll = (transaction: Transaction<Evm>): boolean =>
  transaction.state === "signed" &&
  (currentAttempts(transaction).at(-1)?.refusal?.times ?? 0) >= unknownRefusalsBeforeHold

const survey = (open: ReadonlyArray<Transaction<Evm>>): EvmSurvey => {
  let found: EvmSurvey = { urgency: "safeLow", open: open.length }
  for (const transaction of open) {
    const urgency = fasterOf(found.urgency, speedOf(newestRequest(transaction)))
    const nonce = isInFlight(transaction) && !isAccepted(transaction) ? nonceOf(transaction) : undefined
    const { lowestUnaccepted = nonce, isRefused = isRefusedByAll(transaction) } = found
    found = {
      urgency,
      open: open.length,
      ...(isRefused ? { isRefused } : {}),
      lowestUnaccepted:
        nonce === undefined || lowestUnaccepted === undefined ? lowestUnaccepted : Math.min(lowestUnaccepted, nonce)
    }
  }
  return found
}

export const evmRules: Rules<Evm> = {
  type: "evm",
  request: RequestJson,
  facts: Schema.Struct({}),
  offer: OfferJson,
  refusal: RefusalJson,
  counters: Schema.Struct({}),
  receipt: ReceiptJson,
  shown: EvmTransaction,
  targetOf: ({ relayer, network }) =>
    relayer.network_type === "evm" && network.network_type === "evm" ? { relayer, network } : undefined,
  laneOf: ({ relayer, network }) => {
    const { chainId, window } = networkNumbers(network)
    return { chain: `evm:${chainId}`, address: canonical("evm", relayer.address), window }
  },
  pollInterval: ({ network }) => pollInterval(networkNumbers(network)),
  auditedOf: ({ to, value }) => ({ to, value: String(value) }),
  identityOf: () => undefined,
  exclusiveOf: () => undefined,
  termsOf: (target, transaction) => {
    const terms = evmTermsOf(target)
    const isAllowed = transaction.origin !== "request" || isReceiverAllowed(newestRequest(transaction), terms)
    return { ...terms, isAllowed }
  },
  survey,
  placeOf: ({ accounts: [{ address, nextSequence }] }) => ({ account: address, sequence: nextSequence }),
  decide,
  costOf: (request, offer) => costOf(offer, request?.value ?? 0n),
  maxFeeOf: maxFeesOf,
  hear,
  couldBe,
  replacementViolations,
  replaced,
  cancel,
  predecessors,
  explain,
  show
}
