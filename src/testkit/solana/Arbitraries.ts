// Arbitrary requests and responses about transactions of solana.
import { Arbitrary } from "effect"
import {
  ReplaceSolanaTransaction,
  SendSolanaTransaction,
  SolanaTransactionResponse
} from "../../networks/solana/rules/SolanaExchanges.ts"

export const sendSolanaTransaction = Arbitrary.schema(SendSolanaTransaction)
export const replaceSolanaTransaction = Arbitrary.schema(ReplaceSolanaTransaction)
export const solanaTransaction = Arbitrary.schema(SolanaTransactionResponse)
