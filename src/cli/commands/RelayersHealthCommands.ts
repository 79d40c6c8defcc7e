// `relayers status`, `balance`, `check` and `explain`: how a relayer is doing, and why.
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import * as Verb from "../kit/Verb.ts"

const status = Verb.onOne("status", RelayerId, (client, id) =>
  client.relayerHealth.status({ params: { relayer_id: id } })
).pipe(
  Verb.about(
    "Get a relayer's status, with a look at its chain now.",
    "relayers status payouts",
    "relayers status payouts --output json"
  )
)

const balance = Verb.onOne("balance", RelayerId, (client, id) =>
  client.relayerHealth.balance({ params: { relayer_id: id } })
).pipe(
  Verb.about(
    "Get a relayer's balance, read from its chain now: exit code 1 where that does not answer.",
    "relayers balance payouts"
  )
)

const check = Verb.onOne("check", RelayerId, (client, id) =>
  client.relayerHealth.check({ params: { relayer_id: id } })
).pipe(
  Verb.about(
    "Check a relayer now, with the same consequences as the checks that the service makes by itself.",
    "relayers check payouts"
  )
)

const explain = Verb.onOne("explain", RelayerId, (client, id) =>
  client.relayerHealth.explain({ params: { relayer_id: id } })
).pipe(Verb.about("Explain why a relayer is in its state, and what happens next.", "relayers explain payouts"))

export const RelayersHealthCommands = [status, balance, check, explain] as const
