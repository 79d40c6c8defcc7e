// One random episode: a chain, providers, two processes and callers, with faults, then a fair end in which all must finish.
import { isFinal } from "../../../../../src/networks/core/Transaction.ts"
import { decide as realDecide } from "../../../../../src/networks/solana/rules/SolanaDecision.ts"
import { life, makeChain } from "./Chain.ts"
import { makeLedger } from "./Ledger.ts"
import { ownLifetime } from "./Lifetimes.ts"
import { makeProcess } from "./Process.ts"
import type { World } from "./Process.ts"
import { makeProvider } from "./Provider.ts"
import { random as seeded } from "./Random.ts"
import { answer, reconcile } from "./Restores.ts"
import { stepMillis } from "./Setting.ts"
import type { Setting } from "./Setting.ts"
import { violation } from "./Truth.ts"

/** Probabilities of one step: a block, a fork, a back end that changes, a crash, a claim, a cancel, and so on. */
const share = {
  block: 0.26,
  fork: 0.03,
  drift: 0.07,
  crash: 0.01,
  claim: 0.01,
  cancel: 0.005,
  copy: 0.035,
  restore: 0.02
}
const oftenGiven = 0.03
const oftenSilent = 0.01
const oftenReconciled = 0.4
const oftenAnswered = 0.3
const oftenChecked = 3
const fairSteps = 400
const fairLand = 0.9

interface Outcome {
  readonly steps: number
  readonly attempts: number
  readonly states: ReadonlyArray<string>
  readonly violation?: string
}

const episode = (setting: Setting, seed: number): Outcome => {
  const random = seeded(seed)
  const { chance, pick } = random
  const { without } = setting
  const chain = makeChain(random)
  const ledger = makeLedger(setting, random)
  const providers = Array.from({ length: setting.providers }, (_, index) =>
    makeProvider(setting, random, chain, index === 0)
  )
  const decide = without.decide === undefined ? realDecide : without.decide(realDecide)
  const world: World = { setting, random, chain, ledger, providers, decide, outcomes: new Map() }
  const processes = [makeProcess(world, 1), makeProcess(world, 0)]
  const finals = new Map<string, string>()
  /** What `sign-transaction` gave away: the caller keeps the bytes, whatever the ledger forgets. */
  const kept = new Map<number, { readonly hash: string; readonly blockhash: string }>()
  const posted = new Set<number>()
  let heightAtRestore = 0
  let now = 0
  let steps = 0
  let isFair = false

  for (let id = 0; id < setting.rows; id++) {
    const own = !setting.equal && chance(0.15) ? chain.top().hash : undefined
    ledger.accept(id, now, undefined, own)
  }

  const signatureGiven = (hash: string, blockhash: string, isPosted: boolean) => {
    const lifetime = ownLifetime(world, blockhash, false)
    const price = { computeUnitPrice: 0n }
    if (lifetime === "unavailable" || (lifetime === "dead" && !isPosted)) return undefined
    if (lifetime !== "dead") return { hash, offer: { ...lifetime, ...price }, maxFee: 0n }
    // Only the caller knows these bytes: they live no longer than a blockhash of now.
    const heights = providers.map((provider) => provider.height()).filter((height) => height !== undefined)
    if (heights.length < providers.length) return undefined
    const offer = { blockhash, bound: Math.max(...heights) + life + 1, signedSlot: 0, ...price, isLast: true } as const
    return { hash, offer, maxFee: 0n }
  }

  const give = (): void => {
    const id = setting.rows + random.int(setting.given)
    if (kept.has(id)) return
    const blockhash = pick(providers).pair()?.hash
    if (blockhash === undefined) return
    const hash = ledger.signatureOf(id, blockhash, 0)
    const taken = signatureGiven(hash, blockhash, false)
    if (taken === undefined) return
    world.outcomes.set(hash, !chance(0.1))
    ledger.give(id, taken)
    ledger.make(id, hash)
    kept.set(id, { hash, blockhash })
  }

  /**
   * The caller posts what it was given, once, also after the ledger has forgotten that it was given. What was accepted after
   * a copy is unknown to it: a caller that repeats it executes it twice, which is an exception of the promise.
   */
  const post = (): void => {
    for (const [id, { hash, blockhash }] of kept) {
      if (posted.has(id) || (!isFair && chance(0.7))) continue
      const taken = ledger.given().get(id) ?? signatureGiven(hash, blockhash, true)
      if (taken === undefined) continue
      ledger.accept(id, now, taken)
      posted.add(id)
    }
  }

  const callers = (): void => {
    if (setting.given === 0) return
    if (chance(oftenGiven)) give()
    if (chance(oftenGiven) || isFair) post()
    for (const { hash, blockhash } of kept.values()) {
      if (chance(oftenGiven)) chain.send(hash, { blockhash, isSuccess: world.outcomes.get(hash) ?? true })
    }
  }

  const cancel = (): void => {
    const rows = ledger.rows()
    if (rows.length === 0) return
    const row = pick(rows)
    const { state, restored, facts } = row.transaction
    if (isFinal(row.transaction)) return
    const endsAtOnce = state === "pending" && !restored && facts.given === undefined
    ledger.save(row, endsAtOnce ? { state: "canceled" } : { intent: "cancel" })
  }

  const putBack = (): void => {
    if (!ledger.hasCopy() || ledger.restore !== undefined) return
    heightAtRestore = chain.top().height
    ledger.putBack()
    for (const process of processes) process.crash()
    processes[0]?.claim()
  }

  const copies = [
    [share.copy, () => void (ledger.restore === undefined && !ledger.hasCopy() && ledger.backUp())],
    [share.restore, putBack]
  ] as const
  const events: ReadonlyArray<readonly [number, () => void]> = [
    [share.block, () => chain.grow(setting.land)],
    [share.fork, chain.reorganise],
    [share.drift, () => pick(providers).drift()],
    [share.crash, () => (chance(0.5) ? pick(processes).claim() : pick(processes).crash())],
    // A lease ends while its process is frozen in the middle of a task, and the other one takes the lane.
    [share.claim, () => pick(processes).claim()],
    [share.cancel, cancel],
    ...(setting.restores ? copies : [])
  ]

  const happen = (): void => {
    let left = random.int(1e6) / 1e6
    for (const [probability, event] of events) {
      if (left < probability) return event()
      left -= probability
    }
    pick(processes).step(now)
    if (chance(oftenReconciled)) reconcile(world, heightAtRestore)
    if (chance(oftenAnswered)) answer(world)
  }

  const outcome = (found?: string): Outcome => ({
    steps,
    attempts: ledger.rows().reduce((count, { transaction }) => count + transaction.attempts.length, 0),
    states: ledger
      .rows()
      .map(({ transaction, isGivenUp }) =>
        isGivenUp === true ? "given up" : `${transaction.state} ${transaction.cause?.code ?? ""}`.trim()
      ),
    ...(found === undefined ? {} : { violation: found })
  })

  for (let index = 0; index < setting.length; index++) {
    steps++
    now += stepMillis
    if (setting.silent && chance(oftenSilent)) providers[1]?.silence(chance(0.5))
    callers()
    happen()
    const found = index % oftenChecked === 0 ? violation(world, finals) : undefined
    if (found !== undefined) return outcome(found)
  }

  isFair = true
  for (const provider of providers) provider.heal()
  // Where the second provider may be silent, it is silent for good: the first one has to decide alone.
  for (const [index, provider] of providers.entries()) provider.silence(setting.silent && index === 1)
  processes[0]?.claim()
  for (let index = 0; index < fairSteps; index++) {
    steps++
    now += stepMillis
    if (index % 2 === 1) chain.grow(fairLand)
    processes[0]?.step(now)
    processes[0]?.step(now)
    reconcile(world, heightAtRestore)
    callers()
    answer(world)
    const found = index % oftenChecked === 0 ? violation(world, finals) : undefined
    if (found !== undefined) return outcome(found)
    if (ledger.open().length === 0 && posted.size === kept.size) break
  }
  const found = violation(world, finals)
  if (found !== undefined) return outcome(found)
  const stuck = ledger.open().map(({ transaction }) => `${transaction.state} ${transaction.attempts.length}`)
  return stuck.length === 0 ? outcome() : outcome(`stuck: ${stuck.join(", ")}`)
}

interface Report {
  readonly name: string
  readonly steps: number
  readonly episodes: number
  readonly attempts: number
  readonly violations: number
  readonly kinds: Readonly<Record<string, number>>
  /** The number of the first episode with a violation. */
  readonly first?: number
  readonly ends: Readonly<Record<string, number>>
}

const seedOf = (number: number, salt: number): number => number * 2_654_435_761 + 12_345 + 7919 * salt

/** Episodes until as many steps were made, or until as many violations were found. */
export const explore = (setting: Setting, atLeast: number, salt = 0, enough = Number.POSITIVE_INFINITY): Report => {
  const kinds: Record<string, number> = {}
  const ends: Record<string, number> = {}
  let [steps, episodes, attempts, violations] = [0, 0, 0, 0]
  let first: number | undefined
  while (steps < atLeast && violations < enough) {
    episodes++
    const outcome = episode(setting, seedOf(episodes, salt))
    steps += outcome.steps
    attempts += outcome.attempts
    for (const state of outcome.states) ends[state] = (ends[state] ?? 0) + 1
    if (outcome.violation === undefined) continue
    violations++
    first ??= episodes
    kinds[outcome.violation] = (kinds[outcome.violation] ?? 0) + 1
  }
  return {
    name: setting.name,
    steps,
    episodes,
    attempts,
    violations,
    kinds,
    ends,
    ...(first === undefined ? {} : { first })
  }
}
