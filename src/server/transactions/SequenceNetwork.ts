// What a network type other than evm says about the sequences of an account, for operators.
import type { Effect } from "effect"
import type { TooManyRequests } from "../../domain/access/Caller.ts"
import type { RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import type { BadRequest, NotImplemented } from "../../domain/request/Request.ts"
import type { ShownSequences } from "../../domain/transaction/Family.ts"
import type { TransactionLimitExceeded } from "../../domain/transaction/TransactionLimits.ts"
import type { Sender } from "./Intake.ts"

export interface SequenceNetwork {
  readonly type: string
  /** What the ledger has. */
  ofLedger(sender: Sender): Effect.Effect<ShownSequences>
  /** The same next to what the chain says, as far as a provider answers. */
  get(sender: Sender): Effect.Effect<ShownSequences, RelayerNotFound | TooManyRequests | NotImplemented>
  /** How many sequences are used and final, as every provider that answers says. */
  usedBelow(sender: Sender): Effect.Effect<bigint, RelayerNotFound | TooManyRequests>
  /** Ends the channels of the relayer's account that no other relayer wants. Absent: accounts of the network have no channels. */
  releaseChannels?(
    sender: Sender
  ): Effect.Effect<ShownSequences, RelayerNotFound | BadRequest | TransactionLimitExceeded>
  /** Why no sequence is cleared. */
  readonly notCleared: string
}
