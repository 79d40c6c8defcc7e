// All that the service needs of the network type evm.
import { Effect } from "effect"
import type { OpenNetwork, ServedNetwork } from "../../server/ServedNetworks.ts"
import * as EvmMarkets from "./chain/EvmMarkets.ts"
import { evmDialect, evmInspection, EvmNodes, evmQuestions, makeEvmNodes } from "./chain/EvmNodes.ts"
import * as EvmLane from "./lane/EvmLane.ts"
import { evmLaneMetrics } from "./lane/EvmLane.ts"
import * as EvmDelegations from "./requests/EvmDelegations.ts"
import * as EvmHindsight from "./requests/EvmHindsight.ts"
import * as EvmIntake from "./requests/EvmIntake.ts"
import * as EvmNodeCalls from "./requests/EvmNodeCalls.ts"
import * as EvmNonces from "./requests/EvmNonces.ts"
import { makeMessages } from "./requests/MessageSigning.ts"
import { evmRules } from "./rules/EvmRules.ts"

export type { Evm } from "./rules/Evm.ts"

export const evm: ServedNetwork = {
  rules: evmRules,
  metrics: [...evmLaneMetrics, ...EvmMarkets.metrics],
  provider: { dialect: evmDialect, questions: evmQuestions },
  open: Effect.map(makeEvmNodes, (nodes): OpenNetwork => {
    const asking = Effect.provideService(EvmNodes, nodes)
    return {
      inspection: evmInspection,
      sending: asking(EvmLane.network),
      intake: asking(EvmIntake.make),
      delegations: asking(EvmDelegations.make),
      sequences: asking(EvmNonces.make),
      nodeCalls: asking(EvmNodeCalls.make),
      messages: makeMessages,
      hindsight: asking(EvmHindsight.make)
    }
  })
}
