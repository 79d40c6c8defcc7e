// A network in memory: ledgers, accounts, and the queues of two nodes that lag. It knows for which request each envelope is.
import type { Random } from "../../../solana/rules/explorer/Random.ts"

/** An envelope as the network sees it. Times in unix seconds. */
export interface ChainEnvelope {
  readonly hash: string
  readonly innerHash?: string
  readonly account: string
  readonly sequence: bigint
  readonly maxTime: number
  readonly request: number
}

export interface Entry {
  readonly hash: string
  readonly innerHash?: string
  readonly account: string
  /** The sequence of the account before this entry. If the account jumped, `sequence` is more than one above it. */
  readonly before: bigint
  readonly sequence: bigint
  readonly isSuccess: boolean
}

interface ChainNode {
  /** The newest ledger that it has. */
  view: number
  readonly queue: Map<string, { readonly envelope: ChainEnvelope; age: number }>
  readonly banned: Map<string, number>
}

export const accounts = { own: "GOWN", channel: "GCHANNEL", user: "GUSER" } as const

const ledgerSeconds = 5
/** Ledgers that a node keeps. */
export const retention = 40
const banned = 10
const ages = 4
/** Ledgers that an index of transactions is behind at most. Each ledger has a lag of its own. */
const longestLag = 10
/** The sequence at which accounts begin. */
const begin = 2n ** 60n

const share = { foreign: 0.02, jump: 0.3, closes: 0.7, succeeds: 0.85, moves: 0.8, tooCheap: 0.05 }

export const makeChain = ({ chance, int, pick }: Random) => {
  const nodes: ReadonlyArray<ChainNode> = [0, 1].map(() => ({ view: 0, queue: new Map(), banned: new Map() }))
  const sequences = new Map<string, bigint>(Object.values(accounts).map((address) => [address, begin]))
  const history = new Map<string, Array<bigint>>([...sequences].map(([address, first]) => [address, [first]]))
  const closeTimes = [1_000_000]
  const ledgers: Array<Array<Entry>> = [[]]
  const lags = [0]
  const applied = new Map<string, { readonly ledger: number; readonly entry: Entry; readonly request: number }>()
  let isFaulty = true
  let count = 0

  const height = (): number => closeTimes.length - 1
  const now = (): number => closeTimes[height()] ?? 0

  const use = (address: string, sequence: bigint, entry: Entry): void => {
    sequences.set(address, sequence)
    ledgers[height()]?.push(entry)
  }

  const foreign = (address: string): void => {
    const jump = chance(share.jump) ? BigInt(int(4)) : 0n
    const before = sequences.get(address) ?? 0n
    const sequence = before + 1n + jump
    use(address, sequence, { hash: `f${++count}`, account: address, before, sequence, isSuccess: true })
  }

  const candidatesAt = (address: string): ReadonlyArray<ChainEnvelope> =>
    nodes.flatMap(({ queue }) => {
      const envelope = queue.get(address)?.envelope
      const isNext = envelope?.sequence === (sequences.get(address) ?? 0n) + 1n
      return envelope !== undefined && isNext && envelope.maxTime >= now() ? [envelope] : []
    })

  const applyOne = (address: string): void => {
    const found = candidatesAt(address)
    if (found.length === 0 || (isFaulty && !chance(share.closes))) return
    const { hash, innerHash, request, sequence } = pick(found)
    const isSuccess = chance(share.succeeds)
    const entry: Entry = {
      hash,
      ...(innerHash === undefined ? {} : { innerHash }),
      account: address,
      before: sequence - 1n,
      sequence,
      isSuccess
    }
    use(address, sequence, entry)
    applied.set(hash, { ledger: height(), entry, request })
    for (const node of nodes) node.banned.set(hash, height() + banned)
  }

  const ageQueues = (address: string): void => {
    for (const node of nodes) {
      const queued = node.queue.get(address)
      if (queued === undefined) continue
      if (queued.envelope.sequence <= (sequences.get(address) ?? 0n)) node.queue.delete(address)
      else if (++queued.age >= ages) {
        node.banned.set(queued.envelope.hash, height() + banned)
        node.queue.delete(address)
      }
    }
  }

  const grow = (): void => {
    closeTimes.push(now() + ledgerSeconds)
    ledgers.push([])
    lags.push(int(longestLag + 1))
    for (const address of sequences.keys()) {
      if (isFaulty && chance(share.foreign)) foreign(address)
      else applyOne(address)
      history.get(address)?.push(sequences.get(address) ?? 0n)
      ageQueues(address)
    }
    for (const node of nodes) {
      if (!isFaulty) node.view = height()
      else if (chance(share.moves)) node.view = Math.max(node.view, height() - int(3))
    }
  }

  const submit = (node: ChainNode, envelope: ChainEnvelope): string => {
    const { account, hash, maxTime, sequence } = envelope
    if ((node.banned.get(hash) ?? -1) > height()) return "TRY_AGAIN_LATER"
    const queued = node.queue.get(account)?.envelope
    if (queued?.hash === hash) return "DUPLICATE"
    if (queued !== undefined) return sequence < queued.sequence ? "txBadSeq" : "TRY_AGAIN_LATER"
    if (isFaulty && chance(share.tooCheap)) {
      node.banned.set(hash, height() + banned)
      return "txInsufficientFee"
    }
    if (maxTime < (closeTimes[node.view] ?? 0) + 2 * ledgerSeconds) return "txTooLate"
    if (sequence !== (history.get(account)?.[node.view] ?? 0n) + 1n) return "txBadSeq"
    node.queue.set(account, { envelope, age: 0 })
    return "PENDING"
  }

  return {
    nodes,
    height,
    now,
    grow,
    submit,
    closeTimeOf: (ledger: number): number => closeTimes[ledger] ?? 0,
    sequenceAt: (account: string, ledger: number): bigint => history.get(account)?.[ledger] ?? 0n,
    entriesOf: (ledger: number): ReadonlyArray<Entry> => ledgers[ledger] ?? [],
    /** Whether an index that is behind shows the transactions of a ledger at a newest ledger. */
    isIndexed: (ledger: number, newest: number): boolean => !isFaulty || ledger + (lags[ledger] ?? 0) <= newest,
    newHash: (): string => `h${++count}`,
    applied,
    foundBy: (hash: string) => applied.get(hash) ?? [...applied.values()].find(({ entry }) => entry.innerHash === hash),
    /** A node forgets its queue and its bans. */
    restart: (): void => {
      const node = pick(nodes)
      node.queue.clear()
      node.banned.clear()
    },
    effectsOf: (request: number) => [...applied.values()].filter((one) => one.request === request),
    heal: (): void => {
      isFaulty = false
    },
    isFaulty: (): boolean => isFaulty
  }
}
export type Chain = ReturnType<typeof makeChain>
