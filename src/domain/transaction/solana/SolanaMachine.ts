// Joins the state machine of solana with the neutral core: what the core has of a row becomes what the machine reads, and what
// the machine commands becomes a command of the core.
import { cause } from "../Cause.ts"
import type { Cause, Figures } from "../Cause.ts"
import { present } from "../Presentation.ts"
import { ask, Command, finish, mine, sign } from "../Rules.ts"
import type { Command as CoreCommand, Commands as CoreCommands, Situation } from "../Rules.ts"
import { newestRequest } from "../Transaction.ts"
import type { Lane, Mined, Transaction } from "../Transaction.ts"
import { totalFee } from "./Fee.ts"
import type { Preparation } from "./Preparation.ts"
import type { Solana } from "./Solana.ts"
import { cause as solanaCause } from "./SolanaCode.ts"
import type { SolanaCause } from "./SolanaCode.ts"
import { decide as decideSolana } from "./SolanaDecision.ts"
import { maxComputeUnits, microLamports, pollAfter } from "./SolanaNumbers.ts"
import type {
  SolanaAttempt,
  SolanaCommand,
  SolanaLane,
  SolanaMined,
  SolanaSituation,
  SolanaTransaction
} from "./SolanaSituation.ts"

const attemptOf = (attempt: Transaction<Solana>["attempts"][number]): SolanaAttempt => ({
  hash: attempt.hash,
  offer: attempt.offer,
  ordinal: attempt.ordinal,
  kind: attempt.kind === "refresh" ? "refresh" : "original",
  maxFee: attempt.maxFee,
  sends: attempt.sends,
  signedAt: attempt.signedAt,
  isRefused: attempt.outcome === "refused",
  ...(attempt.lastSentAt === undefined ? {} : { lastSentAt: attempt.lastSentAt })
})

/** A signature that a caller has. Until when its bytes can land is asked if the ledger has forgotten it. */
const factsOf = ({ given, ...facts }: Transaction<Solana>["facts"]): SolanaTransaction["facts"] => {
  if (given === undefined) return facts
  const { hash, offer } = given
  return offer === undefined
    ? { ...facts, isForgotten: true }
    : { ...facts, given: { kind: "original", hash, offer, maxFee: offer.fee, sends: 0, isRefused: false } }
}

const minedOf = ({ ordinal = 1, receipt }: Mined<Solana>): SolanaMined => ({
  ordinal,
  slot: receipt.height,
  isSuccess: receipt.isSuccess
})

const transactionOf = (transaction: Transaction<Solana>): SolanaTransaction => {
  const {
    generation,
    facts,
    intent,
    state,
    cause: why,
    causeSince,
    mined,
    restored,
    validUntil,
    notBefore
  } = transaction
  return {
    generation,
    facts: factsOf(facts),
    intent,
    state,
    causeSince,
    restored,
    validUntil,
    waitsForFunds: newestRequest(transaction).wait_for_funds === true,
    attempts: transaction.attempts.map(attemptOf),
    ...(why === undefined ? {} : { cause: why }),
    ...(mined === undefined ? {} : { mined: minedOf(mined) }),
    ...(notBefore === undefined ? {} : { notBefore })
  }
}

/** The API key may leave less for the fee than the policy. Bytes that the service builds offer a lower price then. */
const withFeeLimit = (preparation: Preparation, limit: bigint | undefined, isPrebuilt: boolean): Preparation => {
  const { fee, price } = preparation
  if (limit === undefined || limit >= fee.offered) return preparation
  const capped = { ...preparation, fee: { ...fee, cap: limit, isOwn: true as const } }
  if (isPrebuilt || limit < fee.floor) return capped
  const units = price.computeUnitLimit ?? maxComputeUnits
  const computeUnitPrice = ((limit - fee.floor) * microLamports) / BigInt(units)
  const offered = fee.floor + totalFee(0, computeUnitPrice, units)
  return { ...capped, fee: { ...capped.fee, offered }, price: { ...price, computeUnitPrice } }
}

/** The cap may be what the request gives. */
const withOwnCap = (preparation: Preparation, given: bigint | undefined): Preparation =>
  given === preparation.fee.cap ? { ...preparation, fee: { ...preparation.fee, isOwn: true } } : preparation

const preparationOf = (
  preparation: Preparation,
  { transaction, terms: { feeLimit } }: Pick<Situation<Solana>, "transaction" | "terms">
): Preparation =>
  withFeeLimit(
    withOwnCap(preparation, newestRequest(transaction).max_fee_lamports),
    feeLimit,
    transaction.facts.isPrebuilt
  )

const laneOf = ({ generation, windowSize, accounts: [{ counters }] }: Lane<Solana>): SolanaLane => ({
  generation,
  windowSize,
  isRestoreRead: counters?.restore?.slot !== undefined,
  ...present("restore", counters?.restore)
})

/** The only reason for which the lane as a whole stops is another chain. */
const situationOf = ({
  transaction,
  lane,
  terms,
  rest,
  view,
  now,
  stop,
  signerRetry
}: Situation<Solana>): SolanaSituation => ({
  transaction: transactionOf(transaction),
  lane: laneOf(lane),
  terms,
  rest,
  view:
    view._tag === "Seen" && view.preparation !== undefined
      ? { ...view, preparation: preparationOf(view.preparation, { transaction, terms }) }
      : view,
  now,
  ...(stop === undefined ? {} : { stop: solanaCause("chain_changed") }),
  ...(signerRetry === undefined ? {} : { signerRetry })
})

const digits = ["fee", "cap", "required", "available", "reserved", "minimum"] as const
const counts = ["window", "in_flight", "slot", "bound", "attempts", "until", "decides_at"] as const

const figuresOf = (given: SolanaCause["figures"]): Figures => {
  const found: { -readonly [K in keyof Figures]: Figures[K] } = {}
  for (const name of digits) if (typeof given[name] === "bigint") found[name] = given[name]
  for (const name of counts) if (typeof given[name] === "number") found[name] = given[name]
  for (const name of ["error", "host"] as const) if (typeof given[name] === "string") found[name] = given[name]
  return found
}

export const causeOf = ({ code, figures }: SolanaCause): Cause => cause(code, figuresOf(figures))

/** Until a provider names the fee, what the message can cost at most stands for it. */
const coreMined = (
  transaction: Transaction<Solana>,
  { ordinal, slot, isSuccess, error, paid }: SolanaMined
): Mined<Solana> => ({
  ordinal,
  receipt: {
    height: slot,
    isSuccess,
    paid: paid ?? transaction.attempts.find((attempt) => attempt.ordinal === ordinal)?.maxFee ?? 0n,
    details: error === undefined ? {} : { error }
  }
})

const coreCommand = (
  { transaction, view }: Situation<Solana>,
  command: SolanaCommand
): CoreCommand<Solana> | undefined => {
  switch (command._tag) {
    case "Sign": {
      const out = view._tag === "Seen" ? (view.preparation?.out ?? 0n) : 0n
      const { kind, maxFee } = command
      return sign<Solana>({
        kind,
        offer: { ...command.offer, fee: maxFee, out },
        maxFee,
        cause: causeOf(command.cause)
      })
    }
    case "Mine":
      return mine<Solana>({
        mined: coreMined(transaction, command.mined),
        state: command.state,
        cause: causeOf(command.cause)
      })
    case "Finish":
      return finish<Solana>({
        state: command.state,
        cause: causeOf(command.cause),
        ...(command.mined === undefined ? {} : { mined: coreMined(transaction, command.mined) }),
        ...(command.confirmedBy === undefined ? {} : { confirmedBy: command.confirmedBy })
      })
    case "Hold":
      return Command.Hold({ cause: causeOf(command.cause), scope: command.scope })
    case "Unmine":
      return Command.Unmine({ cause: causeOf(command.cause) })
    case "Ask":
      return ask<Solana>(command.question)
    // The bytes exist already: the place and the attempt are committed as if they were signed now.
    case "Adopt": {
      const { kind, hash, maxFee, offer } = command.attempt
      return sign<Solana>({
        kind,
        offer: { ...offer, fee: maxFee, out: 0n, taken: hash },
        maxFee,
        cause: cause("sending", { fee: maxFee })
      })
    }
    case "Broadcast":
    case "PollAt":
    case "Rest":
      return command
  }
}

/** A question that was answered in this look is not asked again: what follows it decides. */
const isAnswered = (view: Situation<Solana>["view"], command: SolanaCommand): boolean =>
  command._tag === "Ask" && command.question === "proof" && view._tag === "Seen" && view.isProofAsked === true

export const decide = (situation: Situation<Solana>): CoreCommands<Solana> => {
  const own = situationOf(situation)
  const commands = decideSolana(own)
    .filter((command) => !isAnswered(situation.view, command))
    .flatMap((command) => coreCommand(situation, command) ?? [])
  const [first = Command.PollAt({ at: situation.now + pollAfter }), ...others] = commands
  return [first, ...others]
}
