// What operators see and do about the account of a solana relayer: it has no nonce, so that only restarts of test networks are left.
import { DateTime, Effect, Option } from "effect"
import { NotImplemented } from "../../../domain/request/Request.ts"
import type { SolanaLaneState } from "../../../domain/transaction/solana/SolanaLaneState.ts"
import { solanaRules } from "../../../domain/transaction/solana/SolanaRules.ts"
import { Ledger } from "../../ledger/Ledger.ts"
import type { Sender } from "../Intake.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import type { SequenceNetwork } from "../Senders.ts"

export const make = Effect.map(Ledger, (ledger): SequenceNetwork => ({
  type: solanaRules.type,
  ofLedger: Effect.fnUntraced(function* ({ account }: Sender) {
    const lane = Option.getOrUndefined(yield* ledger.laneOf(account))
    const { inFlight, pending } = yield* ledger.countLane(account)
    const state: SolanaLaneState = {
      address: account.address,
      generation: lane?.lane.generation ?? 0,
      pending,
      in_flight: inFlight,
      ...present("signature_window", lane?.lane.windowSize),
      ...present("code", lane?.code),
      ...present("code_since", lane?.codeSince === undefined ? undefined : DateTime.makeUnsafe(lane.codeSince))
    }
    return state
  }),
  get: () => Effect.fail(new NotImplemented({ error: "accounts of solana have no nonce" })),
  // Answers are about transactions whose bytes are dead: `Rules.resolve` of solana compares block heights.
  usedBelow: () => Effect.succeed(0n),
  notCleared: "accounts of solana have no nonce, and so no gaps; cancel the transactions instead"
}))
