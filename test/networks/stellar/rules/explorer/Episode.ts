// One random episode: a network, providers, two processes and callers, with faults; then a fair end in which all must finish.
import { Result } from "effect"
import { cause } from "../../../../../src/networks/core/Cause.ts"
import { isFinal } from "../../../../../src/networks/core/Transaction.ts"
import type { Transaction } from "../../../../../src/networks/core/Transaction.ts"
import { isUnproven, withCancellation } from "../../../../../src/networks/core/Transition.ts"
import type { Stellar } from "../../../../../src/networks/stellar/rules/Stellar.ts"
import { stellarRules } from "../../../../../src/networks/stellar/rules/StellarRules.ts"
import { random as seeded } from "../../../solana/rules/explorer/Random.ts"
import { pending } from "../Situations.ts"
import { accounts, makeChain } from "./Chain.ts"
import { makeProcess } from "./Process.ts"
import type { Ledger, StoredRow, Without, World } from "./Process.ts"
import { makeProvider } from "./Provider.ts"

export interface Setting {
  readonly name: string
  readonly providers: 1 | 2
  readonly isLiar?: true
  readonly isBalanced?: true
  /** Whose index of transactions is behind: that of the second provider, or that of each. */
  readonly indexBehind?: "second" | "each"
  readonly restores?: true
  readonly hasChannel?: true
  readonly without?: Without
}

/** Probabilities of one step. */
const share = {
  accept: 0.03,
  ledger: 0.13,
  crash: 0.004,
  freeze: 0.003,
  cancel: 0.006,
  resend: 0.01,
  restart: 0.01,
  backup: 0.015,
  outage: 0.0005
}
const guestShare = 0.25
const maxRequests = 10
const fairLedgers = 300
const stepsPerLedger = 120

interface Violation {
  readonly violation: string
}

const fail = (violation: string): never => {
  throw Object.assign(new Error(violation), { violation })
}

/** Whether the end of a transaction is what the network shows. */
const check = (transaction: Transaction<Stellar>, effects: ReadonlyArray<boolean>): void => {
  const { cause: why, mined, state } = transaction
  const [first] = effects
  if (effects.length > 1) fail("more than one effect")
  if (state === "confirmed" && first !== true) fail("confirmed without success")
  if (state === "failed" && mined !== undefined && first !== false) fail("failed on the chain without a failure")
  // Its user may have sent it. That another transaction used its sequence is proven also then.
  const isUnsent =
    transaction.facts.guest !== undefined && transaction.attempts.length === 0 && why?.code !== "sequence_used"
  const saysNothing = state === "expired" || state === "canceled" || (state === "failed" && mined === undefined)
  if (saysNothing && effects.length > 0 && !isUnsent) fail(`${state} ${why?.code}, but it was applied`)
}

/** An account that no poll has read. */
const unread = (address: string) => ({ address, nextSequence: 0n, chainSequence: 0n, settledSequence: 0n })
const channel = { ...unread(accounts.channel), counters: { stage: "ready" as const } }

const episode = (setting: Setting, seed: number) => {
  const random = seeded(seed)
  const { chance, int, pick } = random
  const chain = makeChain(random)
  const liar = int(2)
  const { isBalanced = false, isLiar = false, without = {} } = setting
  const kinds = (setting.providers === 1 ? [0] : [0, 1]).map((node) => ({
    node,
    isBalanced,
    isLiar: isLiar && node === liar,
    isIndexBehind: setting.indexBehind === "each" || (setting.indexBehind === "second" && node === 1)
  }))
  const providers = kinds.map((kind) => makeProvider(chain, random, kind))
  const ledger: Ledger = {
    rows: new Map(),
    lane: {
      generation: 0,
      windowSize: 165,
      accounts: [unread(accounts.own), ...(setting.hasChannel === true ? [channel] : [])]
    },
    epoch: 0
  }
  const world: World = { random, chain, providers, envelopes: new Map(), without, ledger }
  let steps = 0
  let count = 0
  let states: ReadonlyArray<string> = []

  const effectsOf = (number: number) => chain.effectsOf(number).map(({ entry }) => entry.isSuccess)
  const note = (before: StoredRow, after: Transaction<Stellar>): void => {
    if (isFinal(before.transaction)) fail("a final transaction changed")
    if (isFinal(after)) {
      check(after, effectsOf(after.number))
      states = [...states, `${after.state} ${after.cause?.code}`]
    }
  }
  const program = makeProcess(world, note)
  const moment = () => chain.now() * 1000
  const open = () => [...world.ledger.rows.values()].filter(({ transaction }) => !isFinal(transaction))

  const accept = (): void => {
    const number = ++count
    const base = { ...pending, number, createdAt: moment(), causeSince: moment() }
    const validity = 60 + int(240)
    world.ledger.rows.set(number, { version: 1, transaction: { ...base, validUntil: moment() + validity * 1000 } })
    if (!chance(guestShare)) return
    const guest = {
      account: accounts.user,
      sequence: chain.sequenceAt(accounts.user, chain.height()) + 1n,
      innerHash: chain.newHash(),
      maxTime: chain.now() + 30 + int(30)
    }
    const transaction = { ...base, facts: { guest }, validUntil: guest.maxTime * 1000 }
    world.ledger.rows.set(number, { version: 1, transaction })
    // The user may send it himself.
    if (!chance(0.3)) return
    const { innerHash: hash, ...own } = guest
    world.envelopes.set(hash, { ...own, hash, request: number })
  }

  const cancel = (): void => {
    const rows = open()
    const row = rows[int(rows.length)]
    const decided = row && stellarRules.cancel(row.transaction)
    if (row === undefined || decided === undefined || Result.isFailure(decided)) return
    const transaction = withCancellation(row.transaction, decided.success, moment())
    note(row, transaction)
    world.ledger.rows.set(transaction.number, { version: row.version + 1, transaction })
  }

  const resend = (): void => {
    const all = [...world.envelopes.values()]
    const envelope = all[int(all.length)]
    if (envelope !== undefined && envelope.maxTime > chain.now()) chain.submit(pick(chain.nodes), envelope)
  }

  const processes: Array<{ task: Generator<undefined, void> | undefined; frozen: number }> = [
    { task: undefined, frozen: 0 },
    { task: undefined, frozen: 0 }
  ]
  const claim = (index: number): void => {
    world.ledger.epoch += 1
    const process = processes[index]
    if (process !== undefined) process.task = program(world.ledger.epoch)
  }
  const run = (index: number): void => {
    const process = processes[index]
    if (process === undefined) return
    if (process.frozen > 0) process.frozen -= 1
    else if (process.task === undefined) {
      const other = processes[1 - index]
      if (other?.task === undefined || other.frozen > 0) claim(index)
    } else if (process.task.next().done === true) process.task = undefined
  }

  let copy: Ledger | undefined
  let restoredAt = 0
  const backup = (): void => {
    if (copy === undefined) {
      copy = { ...world.ledger, rows: new Map(world.ledger.rows) }
      return
    }
    if (!chance(0.5)) return
    const rows = [...copy.rows.values()].map(({ transaction, version }): StoredRow => ({
      version: version + 1000,
      transaction: isFinal(transaction) ? transaction : { ...transaction, restored: true }
    }))
    world.ledger = {
      ...copy,
      epoch: world.ledger.epoch + 1000,
      rows: new Map(rows.map((row) => [row.transaction.number, row]))
    }
    copy = undefined
    restoredAt = chain.now()
    for (const process of processes) process.task = undefined
  }

  /** What lives may still be applied. Without the wait, an operator answers while it does. */
  const isAnswerable = (number: number): boolean => {
    if (without.waitAfterRestore === true) return true
    return ![...world.envelopes.values()].some(({ maxTime, request }) => request === number && maxTime >= chain.now())
  }

  /** The operator answers truthfully as far as he can know it. */
  const answer = (): void => {
    for (const row of open()) {
      const { transaction } = row
      if (!isUnproven(transaction) || !isAnswerable(transaction.number)) continue
      if (effectsOf(transaction.number).length > 0) world.ledger.rows.delete(transaction.number)
      else {
        const { place: _, ...others } = transaction
        const next: Transaction<Stellar> = { ...others, state: "pending", restored: false, cause: cause("queued") }
        world.ledger.rows.set(transaction.number, { version: row.version + 1, transaction: next })
      }
    }
  }

  const fault = (): void => {
    const kinds: ReadonlyArray<readonly [number, () => void]> = [
      [count < maxRequests ? share.accept : 0, accept],
      [share.ledger, chain.grow],
      [share.crash, () => void (processes[int(2)] = { task: undefined, frozen: 0 })],
      [share.freeze, () => void (processes[int(2)]!.frozen = 20 + int(150))],
      [share.cancel, cancel],
      [share.resend, resend],
      [share.restart, chain.restart],
      [setting.restores === true ? share.backup : 0, backup],
      [setting.restores === true ? 0.05 : 0, () => without.waitAfterRestore === true && answer()],
      [share.outage, () => void Array.from({ length: 30 + int(30) }, chain.grow)]
    ]
    let rest = int(1_000_000) / 1_000_000
    for (const [probability, act] of kinds) {
      if (rest < probability) return act()
      rest -= probability
    }
    run(int(2))
  }

  const checkAll = (): void => {
    for (const { transaction } of world.ledger.rows.values()) {
      if (isFinal(transaction)) check(transaction, effectsOf(transaction.number))
      else if (effectsOf(transaction.number).length > 1) fail("more than one effect")
    }
  }

  try {
    const length = 800 + int(2400)
    for (; steps < length; steps++) fault()
    checkAll()
    chain.heal()
    for (const process of processes) process.frozen = 0
    let ledgers = 0
    for (; ledgers < fairLedgers && open().length > 0; ledgers++) {
      chain.grow()
      for (let step = 0; step < stepsPerLedger; step++, steps++) run(int(2))
      if (chain.now() > restoredAt) answer()
    }
    checkAll()
    const [stuck] = open()
    if (stuck !== undefined) fail(`stuck: ${stuck.transaction.state} ${stuck.transaction.cause?.code}`)
    return { steps, states, count }
  } catch (error) {
    if (!(error instanceof Error) || !("violation" in error)) throw error
    return { steps, states, count, violation: (error as Error & Violation).violation }
  }
}

export interface Report {
  readonly steps: number
  readonly requests: number
  readonly violations: ReadonlyMap<string, number>
  /** Seed of the first violation. */
  readonly first?: number
  /** How often each end occurred. */
  readonly ends: ReadonlyMap<string, number>
}

/** Episodes until so many steps are made, or so many violations are found. */
export const explore = (setting: Setting, steps: number, { salt = 1, limit = Infinity } = {}): Report => {
  const violations = new Map<string, number>()
  const ends = new Map<string, number>()
  let [done, requests, first] = [0, 0, undefined as number | undefined]
  for (let seed = salt * 7919; done < steps && violations.size < limit; seed++) {
    const found = episode(setting, seed * 2_654_435_761)
    done += found.steps
    requests += found.count
    for (const end of found.states) ends.set(end, (ends.get(end) ?? 0) + 1)
    if (found.violation === undefined) continue
    first ??= seed
    violations.set(found.violation, (violations.get(found.violation) ?? 0) + 1)
  }
  return { steps: done, requests, violations, ends, ...(first === undefined ? {} : { first }) }
}
