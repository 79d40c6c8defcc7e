// `relayers status`, `balance`, `check` and `explain`: the health of a relayer and its reasons.
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import * as Verb from "../kit/Verb.ts"

const status = Verb.onOne("status", RelayerId, (client, id) =>
  client.relayerHealth.status({ params: { relayer_id: id } })
).pipe(
  Verb.about(
    "Get the status of a relayer, with the current state of its chain.",
    "relayers status payouts",
    "relayers status payouts --output json"
  )
)

const balance = Verb.onOne("balance", RelayerId, (client, id) =>
  client.relayerHealth.balance({ params: { relayer_id: id } })
).pipe(
  Verb.about(
    "Read the balance of a relayer from its chain; exit code 1 if the chain does not answer.",
    "relayers balance payouts"
  )
)

const check = Verb.onOne("check", RelayerId, (client, id) =>
  client.relayerHealth.check({ params: { relayer_id: id } })
).pipe(
  Verb.about(
    "Check a relayer now. The result counts like that of a scheduled check: it may disable or enable the relayer.",
    "relayers check payouts"
  )
)

const explain = Verb.onOne("explain", RelayerId, (client, id) =>
  client.relayerHealth.explain({ params: { relayer_id: id } })
).pipe(Verb.about("Explain the state of a relayer and what happens next.", "relayers explain payouts"))

export const RelayersHealthCommands = [status, balance, check, explain] as const
