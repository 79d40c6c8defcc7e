// Tables of decisions: a row is a situation, and what its first command is.
import { Struct } from "effect"
import { assert, it } from "@effect/vitest"
import type { Cause } from "../../../../src/networks/core/Cause.ts"
import type { Command, Unreachable } from "../../../../src/networks/core/Rules.ts"
import type { Attempt, Transaction } from "../../../../src/networks/core/Transaction.ts"
import type { Evm, Seen } from "../../../../src/networks/evm/rules/Evm.ts"
import { attempt, commandsOf, seen } from "./Fixtures.ts"
import type { LaneFields } from "./Fixtures.ts"

/** The first cause of the commands. */
export const causeOf = (commands: ReadonlyArray<Command<Evm>>): Cause | undefined => {
  const found = commands.find((command) => "cause" in command)
  return found !== undefined && "cause" in found ? found.cause : undefined
}

export const codeOf = (commands: ReadonlyArray<Command<Evm>>): string => causeOf(commands)?.code ?? "none"

/** `Hold relayer gas_price_above_cap`, `Finish expired deadline_passed`, `Sign noop canceling` … */
export const summary = (commands: ReadonlyArray<Command<Evm>>): string => {
  const [first] = commands
  switch (first?._tag) {
    case "Hold":
      return `Hold ${first.scope} ${first.cause.code}`
    case "Finish":
      return `Finish ${first.state} ${first.cause.code}`
    case "Sign":
      return `Sign ${first.kind} ${first.cause.code}`
    case "Mine":
      return `Mine ${first.state} ${first.cause.code}`
    case "Intend":
      return `Intend ${first.intent} ${first.cause.code}`
    default:
      return `${first?._tag} ${codeOf(commands)}`
  }
}

/** What is left out is usual: nothing in flight, nothing special seen, no time passed. */
export type Case = readonly [
  name: string,
  expected: string,
  transaction: Transaction<Evm>,
  situation?: LaneFields | undefined,
  view?: Seen | Unreachable | undefined,
  at?: number
]

export const decisions = (cases: ReadonlyArray<Case>): void => {
  for (const [name, expected, transaction, situation, view, at] of cases) {
    it(`${name}: ${expected}`, () => {
      assert.strictEqual(summary(commandsOf(transaction, situation, view, at)), expected)
    })
  }
}

export const noop = (ordinal: number, over: Parameters<typeof attempt>[1] = {}) =>
  attempt(ordinal, { kind: "noop", ...over })

/** So many blocks after the usual one. */
export const later = (blocks: number, over: Partial<Seen> = {}): Seen =>
  seen({ head: { number: 100 + blocks, hash: "later" }, finalHeight: 98 + blocks, ...over })

/** Signed, and never sent. */
export const unsent = (one: Attempt<Evm>): Attempt<Evm> => ({
  ...Struct.omit(one, ["firstSent", "lastSentAt"]),
  sends: 0,
  outcome: "unknown"
})
