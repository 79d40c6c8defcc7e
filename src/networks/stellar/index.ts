// All that the service needs of the network type stellar.
import { Effect } from "effect"
import type { OpenNetwork, ServedNetwork } from "../../server/ServedNetworks.ts"
import { balancesWith } from "./chain/StellarBalances.ts"
import { dialect, makeStellarNodes, stellarKindOf, StellarNodes, stellarQuestions } from "./chain/StellarNodes.ts"
import * as StellarLane from "./lane/StellarLane.ts"
import { stellarMetrics } from "./lane/StellarUpkeep.ts"
import * as StellarIntake from "./requests/StellarIntake.ts"
import { makeStellarNodeCalls, makeStellarNonces } from "./requests/StellarIntake.ts"
import { stellarRules } from "./rules/StellarRules.ts"

export type { Stellar } from "./rules/Stellar.ts"

export const stellar: ServedNetwork = {
  rules: stellarRules,
  metrics: stellarMetrics,
  provider: { dialect, questions: stellarQuestions },
  open: Effect.map(makeStellarNodes, (nodes): OpenNetwork => {
    const asking = Effect.provideService(StellarNodes, nodes)
    return {
      inspection: { ...stellarKindOf(nodes), balances: balancesWith(nodes) },
      sending: asking(StellarLane.network),
      intake: asking(StellarIntake.make),
      sequences: asking(makeStellarNonces),
      nodeCalls: asking(makeStellarNodeCalls)
    }
  })
}
