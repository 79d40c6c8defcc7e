// One RPC provider of the stand-in ledger, with the ways in which it can be slow, broken or lying.
import type { Ledger, Network, Transaction } from "./Network.ts"
import { call } from "./Methods.ts"
import type { View } from "./Methods.ts"
import { decode } from "./Envelope.ts"
import { withCode } from "./Results.ts"
import type { UnknownCode } from "./Results.ts"
import type { Script } from "./Simulation.ts"

/** The store of stellar-rpc by default: seven days. */
const defaultRetention = 120_960

/** How far the index of transactions is behind the ledgers and the entries that a provider shows. */
export interface IndexLag {
  /** Ledgers after a ledger until its transactions are shown. */
  readonly ledgers: number
  /** Each ledger has a lag of its own, from 1 to `ledgers`. Absent: all have the same. */
  readonly isRandom?: true
  /**
   * Answers about transactions name the ledger up to which the index is complete, and show nothing above it. Absent: they name the
   * newest ledger.
   */
  readonly isHonest?: true
}

/** What a provider does wrong. Each is a value of JSON, so that a process can be controlled over HTTP. */
export interface Faults {
  /** Ledgers that it is behind. */
  lag: number
  /** Ledgers that the second node of a load balancer is behind. Calls alternate between the two nodes. */
  balancerLag: number | undefined
  /** Ledgers that it ingests between the two reads of `getTransaction`. */
  ingestsBetween: number
  indexLag: IndexLag | undefined
  /** The newest ledger that it knows, if it stands still. */
  standsAt: number | undefined
  retention: number
  closeTimeOffset: number
  /** Claims ledgers of the future. */
  ledgerOffset: number
  sequenceOffset: number
  passphrase: string | undefined
  /** The protocol that it names instead of that of the network. */
  protocolVersion: number | undefined
  /** Hashes that it does not show. */
  hidden: ReadonlyArray<string>
  /** Hashes that it shows as applied successfully in its newest ledger. */
  claimed: ReadonlyArray<string>
  /** Answers by method instead of its own. The call has no effect. */
  replaced: Readonly<Record<string, unknown>>
  /** Methods whose answer is lost, before or after the effect. */
  lost: Readonly<Record<string, "before" | "after">>
  /** Methods that it answers with status 429. */
  throttled: ReadonlyArray<string>
  /** Methods whose answer has more than 10 MB. */
  huge: ReadonlyArray<string>
  /** Accounts whose transactions its stellar-core answers with FILTERED. */
  filtered: ReadonlyArray<string>
  /** A code of a later protocol that results have instead of their own. */
  unknownCode: UnknownCode | undefined
  /** `NOT_FOUND` has no field but those of the store, as henyey answers. */
  isBare: boolean
  /** Whether it answers no batch, as henyey. */
  refusesBatches: boolean
  script: Script
}

export const honest = (): Faults => ({
  lag: 0,
  balancerLag: undefined,
  ingestsBetween: 0,
  indexLag: undefined,
  standsAt: undefined,
  retention: defaultRetention,
  closeTimeOffset: 0,
  ledgerOffset: 0,
  sequenceOffset: 0,
  passphrase: undefined,
  protocolVersion: undefined,
  hidden: [],
  claimed: [],
  replaced: {},
  lost: {},
  throttled: [],
  huge: [],
  filtered: [],
  unknownCode: undefined,
  isBare: false,
  refusesBatches: false,
  script: {}
})

/** The connection is cut instead of an answer. */
export class Lost extends Error {}

export class Throttled extends Error {}

const hugeAnswer = "x".repeat(10_000_001)

export class Provider {
  readonly network: Network
  readonly node: number
  faults: Faults = honest()
  /** Calls by method. */
  readonly counts = new Map<string, number>()
  #calls = 0

  constructor(network: Network, node = 0) {
    this.network = network
    this.node = node
  }

  #ledger(behind: number): Ledger {
    const newest = Math.min(this.faults.standsAt ?? Infinity, this.network.latest.number)
    return this.network.ledgerAt(Math.max(this.network.firstLedger, newest - behind))
  }

  /** The ledger at which the transactions of a ledger are shown. The same ledger has the same lag each time. */
  #shownAt({ hash, number }: Ledger, { isRandom, ledgers }: IndexLag): number {
    return number + (isRandom === true ? 1 + (Number.parseInt(hash.slice(0, 8), 16) % ledgers) : ledgers)
  }

  /** The newest ledger with which, and with all before it, the index is complete. */
  #indexed(newest: Ledger, lag: IndexLag): Ledger {
    const { firstLedger } = this.network
    const from = Math.max(firstLedger, newest.number - lag.ledgers)
    for (let number = from; number < newest.number; number++) {
      const next = this.network.ledgerAt(number + 1)
      if (this.#shownAt(next, lag) > newest.number) return this.network.ledgerAt(number)
    }
    return newest
  }

  /** A success that did not happen, with the result of another transaction if there is one. */
  #claim(hash: string, newest: Ledger): Transaction {
    const other = this.network.ledgers.flatMap(({ transactions }) => transactions).find(({ isSuccess }) => isSuccess)
    const model = other ?? { result: "", envelope: "", meta: "", source: "", sequence: "0", innerHash: hash }
    return {
      order: 1,
      isFeeBump: false,
      isSoroban: false,
      rate: 100,
      ...model,
      hash,
      isSuccess: true,
      ledger: newest.number
    }
  }

  get #view(): View {
    const { faults } = this
    const { balancerLag, lag } = faults
    const behind = balancerLag !== undefined && this.#calls % 2 === 1 ? balancerLag : lag
    const newest = this.#ledger(behind)
    const { indexLag: index } = faults
    const indexed = index?.isHonest === true ? this.#indexed(newest, index) : newest
    return {
      network: this.network,
      node: this.node,
      passphrase: faults.passphrase ?? this.network.passphrase,
      protocolVersion: faults.protocolVersion ?? this.network.store.voted.protocol,
      newest,
      indexed,
      isIndexed: (ledger) =>
        ledger.number <= indexed.number && (index === undefined || this.#shownAt(ledger, index) <= newest.number),
      lookedUp: this.#ledger(behind + faults.ingestsBetween),
      retention: faults.retention,
      closeTimeOffset: faults.closeTimeOffset,
      ledgerOffset: faults.ledgerOffset,
      script: faults.script,
      account: (account) => ({ ...account, sequence: account.sequence + BigInt(faults.sequenceOffset) }),
      transaction: (hash, found) => {
        if (faults.hidden.includes(hash)) return undefined
        return faults.claimed.includes(hash) ? this.#claim(hash, newest) : found
      },
      result: (text) => (faults.unknownCode === undefined ? text : withCode(text, faults.unknownCode)),
      isFiltered: (text) => {
        const envelope = decode(this.network.networkId, text)
        return envelope !== undefined && faults.filtered.includes(envelope.source)
      },
      isBare: faults.isBare,
      isShown: ({ hash, innerHash }) => !faults.hidden.includes(hash) && !faults.hidden.includes(innerHash)
    }
  }

  /** Throws `RpcError`, `Lost` or `Throttled`. */
  call(method: string, params: Readonly<Record<string, unknown>>): unknown {
    this.counts.set(method, (this.counts.get(method) ?? 0) + 1)
    this.#calls++
    const { faults } = this
    if (faults.throttled.includes(method)) throw new Throttled()
    if (faults.lost[method] === "before") throw new Lost()
    if (method in faults.replaced) return faults.replaced[method]
    const answer = call(this.#view, method, params)
    if (faults.lost[method] === "after") throw new Lost()
    return faults.huge.includes(method) ? { ...Object(answer), huge: hugeAnswer } : answer
  }
}
