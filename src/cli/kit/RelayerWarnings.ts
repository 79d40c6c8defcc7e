// What is wrong with a relayer that a command has just created. The create asks no provider; the status does.
import { Effect } from "effect"
import { chainWarnings, snapshotOf } from "../../domain/health/ChainWarnings.ts"
import type { Relayer } from "../../domain/relayer/Relayer.ts"
import type * as Call from "./Call.ts"

/** Empty: its chain answers, and its account has what it needs. */
export const relayerWarnings = (client: Call.Client, relayer: Relayer) =>
  Effect.map(client.relayerHealth.status({ params: { relayer_id: relayer.id } }), ({ data }) =>
    chainWarnings(relayer, snapshotOf(data))
  )
