// `relayers sponsored-quote` and `sponsored-build`: transactions whose users pay the relayer in a token.
import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import type { ExchangeBody } from "../../domain/transaction/Family.ts"
import { BuildSolanaTransaction, QuoteSolanaTransaction } from "../../domain/transaction/solana/SolanaExchanges.ts"
import { BuildStellarTransaction, QuoteStellarTransaction } from "../../domain/transaction/stellar/StellarExchanges.ts"
import * as Body from "../kit/Body.ts"
import * as Field from "../kit/Field.ts"
import * as Print from "../kit/Print.ts"
import * as Verb from "../kit/Verb.ts"

const fields = { transaction: Field.text("transaction"), fee_token: Field.text("fee_token") }

const networkType = Flag.Literals("network-type", ["solana", "stellar"]).pipe(
  Flag.withDescription("Network type of the relayer. The transaction of a user of stellar is given by `--data`"),
  Flag.withDefault("solana")
)

const target = { id: Verb.id(RelayerId) }

const onSolana = "payouts --transaction AQAAAA== --fee-token EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
const onStellar = "payouts --network-type stellar --data @transaction.json"

const quotes = { solana: QuoteSolanaTransaction, stellar: QuoteStellarTransaction }

const quote = Command.make(
  "sponsored-quote",
  { given: Print.flags, target, networkType, body: Body.config(QuoteSolanaTransaction, fields, {}) },
  Effect.fnUntraced(function* ({ body, given, networkType, target }) {
    const payload: ExchangeBody<"quote"> = yield* Body.read(quotes[networkType], body)
    return yield* Print.changed(given, (client) =>
      client.sponsored.quote({ params: { relayer_id: target.id }, payload })
    )
  })
).pipe(
  Verb.about(
    "Show what a user's transaction costs in a token.",
    `relayers sponsored-quote ${onSolana}`,
    `relayers sponsored-quote ${onStellar}`
  )
)

const builds = { solana: BuildSolanaTransaction, stellar: BuildStellarTransaction }

const build = Command.make(
  "sponsored-build",
  { given: Print.flags, target, networkType, body: Body.config(BuildSolanaTransaction, fields, {}) },
  Effect.fnUntraced(function* ({ body, given, networkType, target }) {
    const payload: ExchangeBody<"build"> = yield* Body.read(builds[networkType], body)
    return yield* Print.changed(given, (client) =>
      client.sponsored.build({ params: { relayer_id: target.id }, payload })
    )
  })
).pipe(
  Verb.about(
    "Build a user's transaction with a payment to the relayer, for the user to sign.",
    `relayers sponsored-build ${onSolana}`,
    `relayers sponsored-build ${onStellar}`
  )
)

export const RelayersSponsoredCommands = [quote, build] as const
