// `relayers nonce`, `nonce-resync`, `nonce-clear`, `nonce-generation`, `channels` and `channels-release`: the account of a relayer.
import { Effect } from "effect"
import { Command } from "effect/cli"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import { ClearNonces } from "../../domain/transaction/evm/NonceState.ts"
import { ResyncNonce } from "../../domain/transaction/TransactionRequests.ts"
import * as Body from "../kit/Body.ts"
import * as Confirm from "../kit/Confirm.ts"
import * as Field from "../kit/Field.ts"
import * as Print from "../kit/Print.ts"
import * as Verb from "../kit/Verb.ts"

const nonce = Verb.onOne("nonce", RelayerId, (client, id) => client.nonces.get({ params: { relayer_id: id } })).pipe(
  Verb.about("Show the nonces of the service next to those of the chain.", "relayers nonce payouts")
)

const channels = Verb.onOne("channels", RelayerId, (client, id) =>
  client.nonces.get({ params: { relayer_id: id } })
).pipe(
  Verb.about(
    "Show the channels of a stellar relayer: their stage, sequences and transactions, and what they lock.",
    "relayers channels payouts"
  )
)

const release = Verb.onOne("channels-release", RelayerId, (client, id) =>
  client.nonces.releaseChannels({ params: { relayer_id: id } })
).pipe(
  Verb.about("End the channels of a stellar relayer, and get their reserves back.", "relayers channels-release payouts")
)

const resync = Verb.send(
  "nonce-resync",
  { id: Verb.id(RelayerId) },
  {
    schema: ResyncNonce,
    fields: { answer: Field.choice("answer", ["send", "give_up"]), transaction_id: Field.text("transaction_id") }
  },
  (client, payload, { id }) => client.nonces.resync({ params: { relayer_id: id }, payload })
).pipe(
  Verb.about(
    "Accept the count of the chain, and decide about transactions whose outcome cannot be proven.",
    "relayers nonce-resync payouts",
    "relayers nonce-resync payouts --answer give_up --transaction-id 4f1c…"
  )
)

const clear = Command.make(
  "nonce-clear",
  {
    given: Print.flags,
    id: Verb.id(RelayerId),
    yes: Confirm.flag,
    body: Body.config(
      ClearNonces,
      {
        from: Field.integer("from"),
        to: Field.integer("to"),
        max_fee_per_gas: Field.text("max_fee_per_gas")
      },
      {}
    )
  },
  Effect.fnUntraced(function* ({ given, id, body, yes }) {
    const payload = yield* Body.read(ClearNonces, body)
    yield* Confirm.ask(yes, `replace the open transactions ${payload.from} to ${payload.to} of ${id} by no-ops`)
    return yield* Print.one(given, (client) => client.nonces.clear({ params: { relayer_id: id }, payload }))
  })
).pipe(Verb.about("Replace open transactions by no-ops; asks first.", "relayers nonce-clear payouts --from 10 --to 11"))

const generation = Verb.onOne("nonce-generation", RelayerId, (client, id) =>
  client.nonces.beginGeneration({ params: { relayer_id: id } })
).pipe(
  Verb.about(
    "Declare that a test network was restarted. Transactions that were signed end as failed.",
    "relayers nonce-generation payouts"
  )
)

export const RelayersNonceCommands = [nonce, resync, clear, generation, channels, release] as const
