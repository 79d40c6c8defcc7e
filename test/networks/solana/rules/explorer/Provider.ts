// A provider: several back ends behind one address, each with its lag, its fork, its history and its errors, or a liar.
import type { OwnAnswer, ReportedLifetime } from "../../../../../src/networks/solana/rules/RequestBytes.ts"
import type { AttemptToProve, Look, SignatureStatus } from "../../../../../src/networks/solana/rules/SolanaSeen.ts"
import { isForgotten, life } from "./Chain.ts"
import type { Block, Branch, Chain } from "./Chain.ts"
import type { Random } from "./Random.ts"
import type { Setting } from "./Setting.ts"

interface BackEnd {
  lag: number
  isOnDeadFork: boolean
  hasHistory: boolean
  /** Blocks that it keeps. */
  keep: number
  /** Newest finalized blocks whose signatures neither its statuses nor its lists have. */
  indexLag: number
}

/** The most blocks by which an index lags: twice the life of a blockhash here. */
const mostIndexLag = 10

const everything = 1e9

export interface Blockhash {
  readonly hash: string
  readonly slot: number
}

export const makeProvider = (setting: Setting, random: Random, chain: Chain, isFirst: boolean) => {
  const { chance, int, pick } = random
  const makeBackEnd = (): BackEnd => ({
    lag: int(4),
    isOnDeadFork: false,
    hasHistory: !chance(setting.noHistory),
    keep: chance(setting.pruned) ? 4 + int(6) : everything,
    indexLag: chance(setting.indexLag) ? 1 + int(mostIndexLag) : 0
  })
  const backEnds = [makeBackEnd(), makeBackEnd()]
  let isLiar = setting.liar && isFirst
  let errors = setting.errors
  let isSilent = false

  const branchOf = ({ isOnDeadFork, lag }: BackEnd): Branch => {
    const fork = isOnDeadFork ? chain.deadFork() : undefined
    if (fork !== undefined) return fork
    const { blocks, finalized } = chain.branch()
    const top = Math.max(0, blocks.length - 1 - lag)
    return {
      blocks: blocks.slice(0, top + 1),
      finalized: Math.min(finalized, top, Math.max(0, finalized - (lag >> 1)))
    }
  }

  /** Each call may meet another back end. Undefined: an error. */
  const call = <A>(answer: (branch: Branch, backEnd: BackEnd) => A | undefined, lie: (branch: Branch) => A) => {
    if (isSilent || chance(errors)) return undefined
    const backEnd = pick(backEnds)
    return isLiar && chance(0.7) ? lie(branchOf(backEnd)) : answer(branchOf(backEnd), backEnd)
  }

  const at = ({ blocks }: Branch, index: number): Block => blocks[index] ?? chain.top()
  const topOf = (branch: Branch): Block => at(branch, branch.blocks.length - 1)

  const find = ({ blocks }: Branch, signature: string) => {
    for (let index = blocks.length - 1; index >= 0; index--) {
      const block = blocks[index]
      const isSuccess = block?.landed.get(signature)
      if (block !== undefined && isSuccess !== undefined) return { block, isSuccess }
    }
    return undefined
  }

  const isIndexed = ({ finalized }: Branch, { indexLag }: BackEnd, height: number): boolean =>
    indexLag === 0 || height <= finalized - indexLag

  const statusOf = (branch: Branch, backEnd: BackEnd, signature: string): SignatureStatus | null => {
    const found = find(branch, signature)
    if (found === undefined) return null
    const top = topOf(branch)
    const { height, slot } = found.block
    if (!isIndexed(branch, backEnd, height)) return null
    const isMissing = setting.without.history === true || !backEnd.hasHistory || top.height - height > backEnd.keep
    if (isForgotten(found.block, top) && isMissing) return null
    const isFinal = height <= at(branch, branch.finalized).height
    const level = isFinal ? "finalized" : height <= top.height - 1 ? "confirmed" : "processed"
    return { slot, level, isSuccess: found.isSuccess }
  }

  const finalizedOf = () =>
    call(
      (branch) => {
        const { slot, height } = setting.without.finality === true ? topOf(branch) : at(branch, branch.finalized)
        return { slot, height }
      },
      () => ({ slot: int(90), height: int(90) })
    )

  /** The first finalized block above a height, which has transactions of others. */
  const witnessOf = (bound: number) =>
    call(
      ({ blocks, finalized }) => (finalized > bound ? blocks[bound + 1] : undefined),
      () => chain.top()
    )

  const statusesOf = (signatures: ReadonlyArray<string>, witnesses: ReadonlyArray<Block>) =>
    call<NonNullable<Look["statuses"]>>(
      (branch, backEnd) => {
        if (setting.without.history !== true && !backEnd.hasHistory) return undefined
        const of = new Map(signatures.map((signature) => [signature, statusOf(branch, backEnd, signature)]))
        const top = topOf(branch)
        const isShown = (block: Block) =>
          branch.blocks[block.height] === block &&
          isIndexed(branch, backEnd, block.height) &&
          (!isForgotten(block, top) || top.height - block.height <= backEnd.keep)
        const indexed = witnesses.filter(isShown).map(({ height }) => ({ fromSlot: 0, toHeight: height - 1 }))
        return { slot: top.slot, of, indexed }
      },
      () => {
        const lie = (): SignatureStatus | null =>
          chance(0.5) ? null : { slot: int(60), level: "finalized", isSuccess: chance(0.5) }
        const of = new Map(signatures.map((signature) => [signature, lie()]))
        return { slot: everything, of, indexed: [{ fromSlot: 0, toHeight: everything }] }
      }
    )

  /** The node refuses if it has not finalized `minimum`. */
  const listFrom = (minimum: number) =>
    call<NonNullable<Look["listed"]>>(
      (branch, { hasHistory, keep, indexLag }) => {
        const root = at(branch, branch.finalized)
        if (!hasHistory || root.slot < minimum) return undefined
        const signatures = new Set<string>()
        let from = 0
        for (const { height, landed, slot } of branch.blocks.slice(0, Math.max(branch.finalized + 1 - indexLag, 0))) {
          if (root.height - height > keep) from = slot + 1
          else for (const signature of landed.keys()) signatures.add(signature)
        }
        return { from, signatures }
      },
      () => ({ from: 0, signatures: new Set() })
    )

  /** As pages show it: they end, and say nothing of what was dropped below. The first block has the transfer that funded the account. */
  const asRead = (list: ReturnType<typeof listFrom>): Look["listed"] => {
    if (list === undefined) return undefined
    return list.from === 0 || list.signatures.size > 0
      ? { ...list, isWhole: true }
      : { from: everything, signatures: list.signatures, isEmpty: true }
  }

  const isValidAt = (branch: Branch, blockhash: string): boolean => {
    const block = chain.blockOf(blockhash)
    if (block === undefined || branch.blocks[block.height] !== block) return false
    return topOf(branch).height - block.height <= life
  }

  const validOf = (blockhashes: ReadonlyArray<string>) =>
    call<NonNullable<Look["blockhashes"]>>(
      (branch) => ({
        slot: topOf(branch).slot,
        valid: new Map(blockhashes.map((blockhash) => [blockhash, isValidAt(branch, blockhash)]))
      }),
      () => ({ slot: everything, valid: new Map(blockhashes.map((blockhash) => [blockhash, false])) })
    )

  const firstAvailable = () =>
    call(
      (branch, { keep }) => at(branch, Math.max(0, branch.blocks.length - 1 - keep)).slot,
      () => 0
    )

  const heightOf = () =>
    call(
      (branch) => topOf(branch).height,
      () => int(60)
    )

  const reportedOf = (branch: Branch) => {
    const { hash, height, slot } = at(branch, Math.max(branch.finalized, branch.blocks.length - 1 - int(2)))
    return { hash, slot, lastValid: height + life, height: undefined }
  }

  /** The answers in their order. A question that failed has none. */
  const look = (attempts: ReadonlyArray<AttemptToProve>): Look => {
    const signatures = attempts.map(({ hash }) => hash)
    const finalized = finalizedOf()
    const empty =
      setting.without.errors === true
        ? { slot: everything, of: new Map(signatures.map((hash) => [hash, null])) }
        : undefined
    const final = attempts.map(({ offer }) => offer.bound).filter((bound) => bound < (finalized?.height ?? 0))
    const bounds = final.length === 0 ? [] : [...new Set([Math.min(...final), Math.max(...final)])]
    const witnesses = bounds.flatMap((bound) => witnessOf(bound) ?? [])
    const statuses = statusesOf(signatures, witnesses) ?? empty
    const listed = asRead(listFrom(finalized?.slot ?? 0))
    const blockhashes = validOf(attempts.map(({ offer }) => offer.blockhash))
    const after = firstAvailable()
    // The answer from before the list decides nothing about a list with entries.
    const before = listed?.isEmpty === true ? firstAvailable() : undefined
    return {
      ...(finalized === undefined ? {} : { finalized }),
      ...(statuses === undefined ? {} : { statuses }),
      ...(listed === undefined ? {} : { listed }),
      ...(blockhashes === undefined ? {} : { blockhashes }),
      ...(after === undefined ? {} : { firstAvailable: Math.max(after, before ?? 0) }),
      ...(before === undefined || after === undefined ? {} : { keptFrom: Math.min(before, after) })
    }
  }

  return {
    look,
    finalized: finalizedOf,
    /** Whether an answer shows that the index has the blocks up to a height. */
    hasIndexed: (bound: number): boolean => {
      const witness = witnessOf(bound)
      return witness !== undefined && (statusesOf([], [witness])?.indexed ?? []).length > 0
    },
    listFrom,
    height: heightOf,
    /** A blockhash for new bytes. A liar understates how long it lives. */
    pair: (): (ReportedLifetime & Blockhash) | undefined => {
      const reported = call<Blockhash & { readonly lastValid: number; readonly height: number | undefined }>(
        reportedOf,
        (branch) => {
          const { hash, height, slot } = pick(branch.blocks)
          const lastValid = Math.max(0, height - int(20))
          return { hash: chance(0.8) ? hash : "none", slot, lastValid, height: lastValid - life + int(4) - 2 }
        }
      )
      if (reported === undefined) return undefined
      // The height is a call of its own, and may meet another back end.
      const height = reported.height ?? heightOf()
      return height === undefined ? undefined : { ...reported, height }
    },
    /** What it says, as the second one, of a blockhash of another provider. */
    second: (blockhash: string): OwnAnswer | undefined => {
      const isValid = call(
        (branch) => isValidAt(branch, blockhash),
        () => chance(0.7)
      )
      const [height, own] = [
        heightOf(),
        call(reportedOf, () => ({ hash: "none", slot: 0, lastValid: life - int(3), height: undefined }))
      ]
      if (isValid === undefined || height === undefined || own === undefined) return undefined
      return { isValid, height, slot: own.slot, life: Math.max(life - 2, Math.min(4 * life, own.lastValid - height)) }
    },
    /** A back end falls behind or catches up, or is caught on a fork. */
    drift: (): void => {
      const backEnd = pick(backEnds)
      backEnd.lag = int(chance(0.2) ? 9 : 3)
      backEnd.isOnDeadFork = chance(0.15)
      backEnd.indexLag = chance(setting.indexLag) ? 1 + int(mostIndexLag) : 0
    },
    silence: (silent: boolean): void => {
      isSilent = silent
    },
    isLiar: () => isLiar,
    /** For the fair end: no more faults. */
    heal: (): void => {
      errors = 0
      isLiar = false
      for (const backEnd of backEnds) {
        Object.assign(backEnd, { lag: 0, isOnDeadFork: false, hasHistory: true, keep: everything, indexLag: 0 })
      }
    }
  }
}

export type Provider = ReturnType<typeof makeProvider>
