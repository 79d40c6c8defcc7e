// Arbitrary requests and responses about transactions of stellar.
import { Arbitrary } from "effect"
import { ReplaceStellarTransaction, SendStellarTransaction } from "../../networks/stellar/rules/StellarRequests.ts"
import { StellarTransactionResponse } from "../../networks/stellar/rules/StellarResponses.ts"

export const sendStellarTransaction = Arbitrary.schema(SendStellarTransaction)
export const replaceStellarTransaction = Arbitrary.schema(ReplaceStellarTransaction)
export const stellarTransaction = Arbitrary.schema(StellarTransactionResponse)
