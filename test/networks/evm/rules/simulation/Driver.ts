// A process that holds the lane: it polls, decides, commits, sends and records. It can die between any two of these.
import { plan } from "../../../../../src/networks/core/Queue.ts"
import type { Command } from "../../../../../src/networks/core/Rules.ts"
import { isFinal } from "../../../../../src/networks/core/Transaction.ts"
import type { Transaction } from "../../../../../src/networks/core/Transaction.ts"
import { apply } from "../../../../../src/networks/core/Transition.ts"
import { decide } from "../../../../../src/networks/evm/rules/Decision.ts"
import { recordedBy } from "../../../../../src/networks/evm/rules/Delegation.ts"
import { nonceOf } from "../../../../../src/networks/evm/rules/Evm.ts"
import type { Evm, Question, Seen } from "../../../../../src/networks/evm/rules/Evm.ts"
import { evmRules } from "../../../../../src/networks/evm/rules/EvmRules.ts"
import { broadcast } from "./Broadcasts.ts"
import { dieAt, living } from "./Faults.ts"
import type { Faults } from "./Faults.ts"
import { estimateIn } from "./Prices.ts"
import { codeAt, findAuthorities, findDelegations, findTaker, hasNoReceipt, see } from "./Reader.ts"
import { sign } from "./Signing.ts"
import { baseOf, situationOf, termsOf, totals } from "./Situations.ts"
import { store, transactionOf } from "./World.ts"
import type { World } from "./World.ts"

/** Called with every decision, to check the invariants that a command alone can break. */
export type Watch = (transaction: Transaction<Evm>, commands: ReadonlyArray<Command<Evm>>) => void

const execute = (
  world: World,
  faults: Faults,
  before: Transaction<Evm>,
  commands: ReadonlyArray<Command<Evm>>
): void => {
  for (const command of commands) {
    if (command._tag === "Sign") {
      const nonce = nonceOf(before) ?? world.ledger.lane.nextNonce
      sign(world, faults, before.number, nonce, command)
      const ordinal = transactionOf(world, before.number).attempts.length
      broadcast(world, faults, before.number, [ordinal])
    } else if (command._tag === "Broadcast") broadcast(world, faults, before.number, command.ordinals)
    else if (command._tag !== "PollAt" && command._tag !== "Rest" && command._tag !== "Ask") {
      dieAt(faults, "before_commit")
      store(world, apply(transactionOf(world, before.number), command, world.now))
    }
  }
}

const answerOf = (
  world: World,
  { reading }: Faults,
  transaction: Transaction<Evm>,
  question: Question
): Partial<Seen> => {
  switch (question._tag) {
    case "Foreign":
      return { taker: findTaker(world, reading, question.nonce), hasNoReceipt: hasNoReceipt(world, transaction) }
    case "RevertReason": {
      const { ordinal, receipt } = question
      return { sights: new Map([[ordinal, { _tag: "Receipt", receipt, isReasonAsked: true }]]) }
    }
    case "RevertsNow":
      return { revertsNow: {} }
    case "CodeAt": {
      const found = codeAt(world, reading, question)
      const { ordinal, receipt } = question
      const known = {
        ...receipt,
        details: { ...receipt.details, ...(found.code === undefined ? {} : { code: found.code }) }
      }
      return {
        codeAt: found,
        ...(transaction.mined === undefined
          ? { sights: new Map([[ordinal, { _tag: "Receipt", receipt: known }]]) }
          : {})
      }
    }
    case "Delegations":
      return { delegated: findDelegations(world, reading, transaction, question) }
    case "Authorities":
      return { authorities: findAuthorities(world, reading, transaction) }
    case "Estimate":
      return { estimate: estimateIn(world), isInquired: true }
  }
}

/** Questions of one decision, as the driver of lanes answers them. */
const maxQuestions = 4

const decideWithAnswers = (
  world: World,
  faults: Faults,
  transaction: Transaction<Evm>,
  view: Seen,
  round = 0
): ReturnType<typeof decide> => {
  const commands = decide(situationOf(world, transaction, view))
  const [first] = commands
  if (first._tag !== "Ask" || round === maxQuestions) return commands
  const answer = answerOf(world, faults, transaction, first.question)
  return decideWithAnswers(world, faults, transaction, { ...view, ...answer }, round + 1)
}

const decideOne = (world: World, faults: Faults, number: number, watch: Watch): boolean => {
  const transaction = transactionOf(world, number)
  // A poll remembers a delegation before anything is decided about it.
  const delegation = isFinal(transaction) ? undefined : recordedBy([transaction], world.ledger.lane.generation)
  if (delegation !== undefined) world.ledger = { ...world.ledger, delegation }
  const commands = decideWithAnswers(world, faults, transaction, see(world, faults.reading, transaction))
  watch(transaction, commands)
  execute(world, faults, transaction, commands)
  return commands.some((command) => command._tag === "PollAt" && command.at <= world.now)
}

/** Decides about one transaction that has or had a nonce, and again while a decision asks for it. */
export const poll = (world: World, faults: Faults, number: number, watch: Watch): void =>
  living(world, () => {
    for (let again = 0; again < 3; again++) if (!decideOne(world, faults, number, watch)) return
  })

/** What is signed now, and what is decided about the others. Questions are answered first, as the driver of lanes does it. */
const planned = (world: World, faults: Faults, limit: number) => {
  const pending = world.ledger.transactions.filter(({ state }) => state === "pending")
  const views = new Map(pending.map((transaction) => [transaction.number, see(world, faults.reading, transaction)]))
  for (let round = 0; ; round++) {
    const candidates = pending.flatMap((transaction) => {
      const view = views.get(transaction.number)
      const terms = termsOf(world, transaction)
      return view === undefined ? [] : [{ transaction, terms, view, providers: "of the network" }]
    })
    const found = plan<Evm>(evmRules, candidates, baseOf(world), totals(world), world.now, limit)
    if (found.questions.length === 0 || round === maxQuestions) return found
    for (const { transaction, question } of found.questions) {
      const view = views.get(transaction.number)
      const answer = answerOf(world, faults, transaction, question)
      if (view !== undefined) views.set(transaction.number, { ...view, ...answer })
    }
  }
}

/** Gives nonces to pending transactions. */
export const assign = (world: World, faults: Faults, watch: Watch, limit = 32): void =>
  living(world, () => {
    const { signings, decided } = planned(world, faults, limit)
    for (const { transaction, commands } of decided) {
      watch(transaction, commands)
      execute(world, faults, transaction, commands)
    }
    for (const { transaction, sign: command } of signings) watch(transaction, [command])
    for (const { transaction, place, sign: command } of signings) {
      sign(
        world,
        { ...faults, crash: faults.crash === "before_commit" ? "before_commit" : "never" },
        transaction.number,
        Number(place.sequence),
        command
      )
    }
    dieAt(faults, "after_commit")
    for (const { transaction } of signings) {
      broadcast(world, faults, transaction.number, [transactionOf(world, transaction.number).attempts.length])
    }
  })
