// All that the service needs of the network type solana.
import { Effect } from "effect"
import type { OpenNetwork, ServedNetwork } from "../../server/ServedNetworks.ts"
import { makeSolanaNodes, solanaDialect, solanaInspection, SolanaNodes, solanaQuestions } from "./chain/SolanaCalls.ts"
import * as SolanaLane from "./lane/SolanaLane.ts"
import { solanaMetrics } from "./lane/SolanaPolls.ts"
import * as SolanaIntake from "./requests/SolanaIntake.ts"
import { makeSolanaNonces } from "./requests/SolanaIntake.ts"
import * as SolanaNodeCalls from "./requests/SolanaNodeCalls.ts"
import { solanaRules } from "./rules/SolanaRules.ts"

export type { Solana } from "./rules/Solana.ts"

export const solana: ServedNetwork = {
  rules: solanaRules,
  metrics: solanaMetrics,
  provider: { dialect: solanaDialect, questions: solanaQuestions },
  open: Effect.map(makeSolanaNodes, (nodes): OpenNetwork => {
    const asking = Effect.provideService(SolanaNodes, nodes)
    return {
      inspection: solanaInspection,
      sending: asking(SolanaLane.network),
      intake: asking(SolanaIntake.make),
      sequences: makeSolanaNonces,
      nodeCalls: asking(SolanaNodeCalls.make)
    }
  })
}
