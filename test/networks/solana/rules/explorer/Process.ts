// A process of the service: it looks, decides, signs, commits and sends, one small step at a time, and may stop in between.
import type { Cause } from "../../../../../src/networks/core/Cause.ts"
import type { Command, Sign, Situation } from "../../../../../src/networks/core/Rules.ts"
import { isFinal } from "../../../../../src/networks/core/Transaction.ts"
import type { Attempt, Transaction } from "../../../../../src/networks/core/Transaction.ts"
import { apply } from "../../../../../src/networks/core/Transition.ts"
import type { Solana } from "../../../../../src/networks/solana/rules/Solana.ts"
import { conclude, rememberConclusion } from "../../../../../src/networks/solana/rules/SolanaSeen.ts"
import type { Preparation, SolanaSeen } from "../../../../../src/networks/solana/rules/SolanaSeen.ts"
import { laneAfter, situation } from "../Situations.ts"
import type { Chain } from "./Chain.ts"
import { attemptOf } from "./Ledger.ts"
import type { Ledger, Memory, Row } from "./Ledger.ts"
import { lifetimeOf, ownLifetime } from "./Lifetimes.ts"
import type { Provider } from "./Provider.ts"
import type { Random } from "./Random.ts"
import { stepMillis } from "./Setting.ts"
import type { Decide, Setting } from "./Setting.ts"

interface Task {
  readonly id: number
  readonly version: number
  readonly mark: number
  readonly command: Command<Solana>
  readonly seen: SolanaSeen
  readonly stage: "decided" | "signed" | "stored" | "sent"
  readonly attempt?: Attempt<Solana>
}

/** Steps without another provider's opinion after which one decides alone, where the second one may be silent. */
const finalityByOne = 30 * stepMillis
const longFinalityByOne = 10_000 * stepMillis

const silence = "second_provider_missing"

/** Whether a time counts from the moment at which the ledger gets this cause, or counts no more. */
const isCounted = ({ cause: before }: Transaction<Solana>, after: Cause): boolean =>
  before?.code !== after.code && (before?.code === silence || after.code === silence)

export interface World {
  readonly setting: Setting
  readonly random: Random
  readonly chain: Chain
  readonly ledger: Ledger
  readonly providers: ReadonlyArray<Provider>
  readonly decide: Decide
  /** Whether signatures succeed. Some fail on the chain. */
  readonly outcomes: Map<string, boolean>
}

export const makeProcess = (world: World, epoch: number) => {
  const { setting, random, chain, ledger, providers, decide, outcomes } = world
  const { without } = setting
  let task: Task | undefined
  let own = epoch
  let memory: Memory = new Map()
  let aloneSince: number | undefined

  const lookAt = (row: Row, now: number): SolanaSeen => {
    const { attempts } = row.transaction
    const looks = providers.map((provider, index) => {
      const heard = provider.look(attempts)
      const answers = without.look === undefined ? heard : without.look(heard)
      const earlier = memory.get(`${row.id} ${index}`)
      const look = earlier === undefined ? answers : { ...answers, earlier }
      const kept = rememberConclusion(look, conclude(look, attempts, []), now)
      if (kept === undefined) memory.delete(`${row.id} ${index}`)
      else memory.set(`${row.id} ${index}`, kept)
      return look
    })
    const heard = looks.filter((look) => Object.keys(look).some((answer) => answer !== "earlier")).length
    if (heard > 1 || providers.length < 2) aloneSince = undefined
    else if (heard === 1) aloneSince ??= now
    return {
      _tag: "Seen",
      configured: without.configured ?? providers.length,
      looks,
      known: [],
      isProofAsked: true,
      ...(aloneSince === undefined ? {} : { aloneSince })
    }
  }

  const situationOf = ({ transaction }: Row, view: SolanaSeen, now: number): Situation<Solana> =>
    situation(transaction, view, {
      lane: laneAfter((ledger.restore?.isRead ?? true) ? { bound: 0, slot: 0 } : { bound: 0 }),
      terms: { blockTime: 0, finalityByOne: setting.silent ? finalityByOne : longFinalityByOne },
      now
    })

  const decideAbout = (row: Row, seen: SolanaSeen, now: number): void => {
    const [command] = decide(situationOf(row, seen, now))
    const { _tag } = command
    task = undefined
    if (_tag === "Rest" || _tag === "PollAt") return
    if (_tag === "Hold" && !isCounted(row.transaction, command.cause)) return
    if (_tag === "Ask" && command.question === "proof") return
    task = { id: row.id, version: row.version, mark: ledger.mark, command, seen, stage: "decided" }
  }

  const prepare = (row: Row): Preparation => ({
    lifetime:
      row.blockhash !== undefined && row.transaction.attempts.length === 0
        ? ownLifetime(world, row.blockhash, aloneSince !== undefined)
        : lifetimeOf(world, aloneSince !== undefined),
    accounts: "read",
    fee: { floor: 5000n, offered: 5000n, cap: 1_000_000n },
    price: { computeUnitPrice: 0n },
    out: 0n,
    balance: 10n ** 10n
  })

  const mayCommit = ({ version, mark }: Task, row: Row): boolean =>
    (without.fence === true || own === ledger.epoch) &&
    !isFinal(row.transaction) &&
    (without.version === true || (row.version === version && mark === ledger.mark))

  const send = ({ hash, offer }: Pick<Attempt<Solana>, "hash" | "offer">): void => {
    if (random.chance(0.9)) chain.send(hash, { blockhash: offer.blockhash, isSuccess: outcomes.get(hash) ?? true })
  }

  const submit = (current: Task, row: Row): void => {
    if (mayCommit(current, row) && row.transaction.state === "signed") ledger.save(row, { state: "submitted" })
    task = undefined
  }

  const signed = (row: Row, command: Sign<Solana>): Attempt<Solana> => {
    const { blockhash } = command.offer
    // The message of a prebuilt request cannot be varied.
    const isFixed = without.unique === true || row.blockhash === blockhash
    const hash = isFixed ? ledger.signatureOf(row.body, blockhash, 0) : ledger.freeSignature(row, blockhash)
    if (!outcomes.has(hash)) outcomes.set(hash, !random.chance(0.1))
    const { kind, offer, maxFee } = command
    return attemptOf({ hash, offer, maxFee }, row.transaction.attempts.length + 1, kind)
  }

  /** The attempt is stored, then it is sent. Without that rule it is sent, then stored. */
  const signOn = (current: Task, row: Row, command: Sign<Solana>): Task | undefined => {
    const { attempt = signed(row, command), stage } = current
    const attempts = [...row.transaction.attempts, attempt]
    if (stage === "decided") return { ...current, attempt, stage: "signed" }
    if (stage === "sent") {
      if (mayCommit(current, row)) ledger.save(row, { attempts, state: "submitted" })
      return undefined
    }
    if (without.storage === true) {
      ledger.make(row.id, attempt.hash)
      send(attempt)
      return { ...current, stage: "sent" }
    }
    const isKnown = row.transaction.attempts.some(({ hash }) => hash === attempt.hash)
    if (!mayCommit(current, row) || isKnown || (without.unique !== true && ledger.isUsed(attempt.hash, row.id))) {
      return undefined
    }
    ledger.make(row.id, attempt.hash)
    const { version } = ledger.save(row, { attempts, state: "signed" })
    const broadcast: Command<Solana> = { _tag: "Broadcast", ordinals: [attempt.ordinal] }
    return { ...current, version, command: broadcast, stage: "stored", attempt }
  }

  const carryOut = (current: Task, row: Row, now: number): void => {
    const { command } = current
    switch (command._tag) {
      case "Sign": {
        const { maxFee, offer } = command
        const { taken: hash } = offer
        if (hash === undefined) {
          task = signOn(current, row, command)
          return
        }
        // Its bytes exist already.
        if (mayCommit(current, row)) {
          ledger.save(row, { state: "signed", attempts: [attemptOf({ hash, offer, maxFee }, 1)] })
        }
        break
      }
      case "Ask":
        if (row.version === current.version || without.version === true) {
          return decideAbout(row, { ...current.seen, preparation: prepare(row) }, now)
        }
        break
      case "Broadcast":
        // What was committed is sent, also by a process that has lost the lane since.
        for (const attempt of current.attempt === undefined ? row.transaction.attempts.slice(-1) : [current.attempt]) {
          send(attempt)
        }
        return submit(current, row)
      case "Mine":
      case "Hold":
        if (mayCommit(current, row)) ledger.save(row, apply(row.transaction, command, now))
        break
      case "Unmine":
        if (mayCommit(current, row)) ledger.save({ ...row, transaction: apply(row.transaction, command, now) }, {})
        break
      case "Finish":
        if (mayCommit(current, row)) {
          const by = row.transaction.attempts.find(({ ordinal }) => ordinal === command.mined?.ordinal)?.hash
          ledger.save(row, { state: command.state, cause: command.cause }, by === undefined ? {} : { by })
        }
        break
      // The machine of solana gives no other commands.
      default:
    }
    task = undefined
  }

  return {
    step: (now: number): void => {
      if (without.fence !== true && own !== ledger.epoch && task === undefined) return
      if (task === undefined) {
        const open = ledger.open()
        if (open.length === 0) return
        const row = random.pick(open)
        return decideAbout(row, lookAt(row, now), now)
      }
      const row = ledger.row(task.id)
      if (row === undefined) task = undefined
      else carryOut(task, row, now)
    },
    crash: (): void => {
      task = undefined
      memory = new Map()
      aloneSince = undefined
    },
    /** Takes the lane. The process that held it may be frozen in the middle of a task. */
    claim: (): void => {
      own = ++ledger.epoch
      task = undefined
      memory = new Map()
      aloneSince = undefined
    }
  }
}
