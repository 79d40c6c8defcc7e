// The sequences of a stellar relayer's account, for operators.
import { Clock, DateTime, Effect, Option } from "effect"
import { present } from "../../../domain/transaction/Presentation.ts"
import type { StellarNonceState } from "../../../domain/transaction/stellar/StellarNonceState.ts"
import { maxTimeOfGiven } from "../../../domain/transaction/stellar/StellarPlaces.ts"
import { momentOf } from "../../../domain/transaction/stellar/Stellar.ts"
import { stellarRules } from "../../../domain/transaction/stellar/StellarRules.ts"
import { Ledger } from "../../ledger/Ledger.ts"
import type { GivenPlace } from "../../ledger/GivenSignature.ts"
import type { StoredLane } from "../../ledger/StoredLane.ts"
import { OutboundWork } from "../../limits/OutboundWork.ts"
import type { Sender } from "../Intake.ts"
import type { SequenceNetwork } from "../SequenceNetwork.ts"
import * as RelayerChain from "./RelayerChain.ts"

const laneFields = (found: Option.Option<StoredLane>) => {
  if (Option.isNone(found)) return { generation: 0, next_sequence: 0n, used_sequence: 0n }
  const { lane, code, codeSince } = found.value
  const [{ nextSequence, chainSequence }] = lane.accounts
  return {
    generation: lane.generation,
    next_sequence: nextSequence,
    used_sequence: chainSequence > 0n ? chainSequence - 1n : 0n,
    ...present("code", code),
    ...present("code_since", codeSince === undefined ? undefined : DateTime.makeUnsafe(codeSince))
  }
}

const givenOf = ({ hash, sequence, validUntil }: GivenPlace) => ({
  hash,
  sequence,
  valid_until: DateTime.makeUnsafe(momentOf(maxTimeOfGiven(validUntil)))
})

export const make = Effect.gen(function* () {
  const ledger = yield* Ledger
  const chain = yield* RelayerChain.make
  const outboundWork = yield* OutboundWork

  const ofLedger = Effect.fnUntraced(function* ({ account }: Sender) {
    const lane = yield* ledger.laneOf(account)
    const { inFlight, oldestSequence, pending } = yield* ledger.countLane(account)
    const given = Option.isNone(lane) ? [] : yield* ledger.givenPlaces(lane.value.id, yield* Clock.currentTimeMillis)
    const state: StellarNonceState = {
      address: account.address,
      ...laneFields(lane),
      pending,
      in_flight: inFlight,
      ...present("oldest_open_sequence", oldestSequence),
      given: given.map(givenOf)
    }
    return state
  })

  const ofChain = Effect.fnUntraced(
    function* (sender: Sender) {
      const { address } = sender.account
      const { newest, of } = yield* chain.look(yield* chain.providersOf(sender), [address])
      return { chain_ledger: newest, ...present("chain_sequence", of.get(address)?.sequence) }
    },
    Effect.catchTag("BadGateway", () => Effect.succeed({}))
  )

  /** Without an account, or without a provider that answers, no sequence counts as used. */
  const usedBelow = Effect.fnUntraced(function* (sender: Sender) {
    const { address } = sender.account
    const looks = yield* chain.lookEach(yield* chain.providersOf(sender), [address])
    const used = looks.map(({ of }) => (of.get(address)?.sequence ?? -1n) + 1n)
    return used.length === 0 ? 0n : used.reduce((least, one) => (one < least ? one : least))
  })

  const nonces: SequenceNetwork = {
    type: stellarRules.type,
    ofLedger,
    get: Effect.fnUntraced(function* (sender: Sender) {
      const known = yield* ofLedger(sender)
      return { ...known, ...(yield* outboundWork.run(ofChain(sender))) }
    }),
    usedBelow: (sender) => outboundWork.run(usedBelow(sender)),
    notCleared:
      "accounts of stellar have no gaps: a sequence that no envelope has used is free when its envelopes are dead; cancel the transactions instead"
  }
  return nonces
})
