// `relayers sponsored-quote` and `sponsored-build`: transactions whose users pay the relayer in a token.
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import { BuildSolanaTransaction, QuoteSolanaTransaction } from "../../domain/transaction/solana/SolanaExchanges.ts"
import * as Field from "../kit/Field.ts"
import * as Verb from "../kit/Verb.ts"

const fields = { transaction: Field.text("transaction"), fee_token: Field.text("fee_token") }

const example = "payouts --transaction AQAAAA== --fee-token EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"

const quote = Verb.send(
  "sponsored-quote",
  { id: Verb.id(RelayerId) },
  { schema: QuoteSolanaTransaction, fields },
  (client, payload, { id }) => client.sponsored.quote({ params: { relayer_id: id }, payload })
).pipe(Verb.about("Show what a user's transaction costs in a token.", `relayers sponsored-quote ${example}`))

const build = Verb.send(
  "sponsored-build",
  { id: Verb.id(RelayerId) },
  { schema: BuildSolanaTransaction, fields },
  (client, payload, { id }) => client.sponsored.build({ params: { relayer_id: id }, payload })
).pipe(
  Verb.about(
    "Build a user's transaction with a payment to the relayer, for the user to sign.",
    `relayers sponsored-build ${example}`
  )
)

export const RelayersSponsoredCommands = [quote, build] as const
