// The stand-in ledger: accounts, closed ledgers, and the queues of its nodes. `README.md` says what it does not do.
import { Operation } from "@stellar/stellar-sdk/base"
import { transaction } from "./Building.ts"
import { Changes, keyOf, newAccount, Store, accountIn } from "./Entries.ts"
import type { Entry, Reads } from "./Entries.ts"
import { applyTransaction } from "./Applying.ts"
import { decode, feeSourceOf, hashOf, inclusionFeeOf, networkIdOf, operationsOf, sha256 } from "./Envelope.ts"
import type { Envelope } from "./Envelope.ts"
import { compareRates, Queue } from "./Queue.ts"
import type { Answer } from "./Queue.ts"
import { isSuccess, resultXdr } from "./Results.ts"
import { isValid } from "./Validity.ts"
import type { Checked } from "./Validity.ts"

/** A transaction of a closed ledger, as `getTransaction` shows it. */
export interface Transaction {
  readonly hash: string
  readonly innerHash: string
  readonly source: string
  readonly sequence: string
  readonly ledger: number
  /** Position in its ledger, from 1. */
  readonly order: number
  readonly isFeeBump: boolean
  readonly isSoroban: boolean
  readonly isSuccess: boolean
  /** Stroops per operation that were charged for inclusion, as fee statistics show them: of a fee bump, per operation inside of it. */
  readonly rate: number
  readonly envelope: string
  readonly result: string
  readonly meta: string
}

export interface Ledger {
  readonly number: number
  /** Unix seconds. */
  readonly closeTime: number
  /** Hex. */
  readonly hash: string
  readonly transactions: ReadonlyArray<Transaction>
}

/** What a closed ledger, or a grant, wrote. A journal keeps these. */
export interface Written {
  readonly ledger: Ledger
  readonly entries: ReadonlyArray<readonly [key: string, entry: Entry | undefined]>
}

export interface Options {
  readonly passphrase: string
  /** Unix milliseconds. Close times follow it. */
  readonly now: () => number
  /** The first ledger. The default number makes sequences exceed 2^53, as on the public network. */
  readonly first?: { readonly number: number; readonly closeTime: number }
  readonly nodes?: number
}

const defaultFirstLedger = 60_000_000

/** Expected ledgers that `maxTime` has to lie ahead when a queue checks it (`getUpperBoundCloseTimeOffset`). */
const aheadLedgers = 2

/** Transactions with calls of a ledger that a fee bump counts as (`FeeBumpTransactionFrame::getResources`). */
const callsOfBump = 2

const second = 1000

const defaultCapacity = 20_000n

export class Network {
  readonly passphrase: string
  readonly networkId: Buffer
  readonly store = new Store()
  readonly ledgers: Array<Ledger> = []
  readonly nodes: ReadonlyArray<Queue>
  readonly firstLedger: number
  /** Operations of each kind that a ledger takes at most. The lowest rate in a full ledger is what all pay. */
  ledgerOperations = 10_000n
  /** Whether ledgers are closed. False: the network has halted. */
  isRunning = true
  /** Gets everything that is written. */
  record: (written: Written) => void = () => {}
  readonly #now: () => number
  readonly #byHash = new Map<string, Transaction>()
  /** Envelopes of the next ledger that passed no queue. */
  #forced: ReadonlyArray<Envelope> = []

  constructor({ passphrase, now, first, nodes = 1 }: Options) {
    this.passphrase = passphrase
    this.networkId = networkIdOf(passphrase)
    this.#now = now
    this.nodes = Array.from({ length: nodes }, () => new Queue(defaultCapacity))
    const { number, closeTime } = first ?? { number: defaultFirstLedger, closeTime: Math.floor(now() / second) }
    this.firstLedger = number
    this.#append({ number, closeTime, hash: this.#hashOf(number, closeTime), transactions: [] })
  }

  #hashOf(number: number, closeTime: number): string {
    return sha256(this.networkId, Buffer.from(`${number} ${closeTime}`)).toString("hex")
  }

  #append(ledger: Ledger): void {
    this.ledgers.push(ledger)
    for (const transaction of ledger.transactions) {
      this.#byHash.set(transaction.hash, transaction)
      this.#byHash.set(transaction.innerHash, transaction)
    }
  }

  get latest(): Ledger {
    return this.ledgerAt(this.firstLedger + this.ledgers.length - 1)
  }

  ledgerAt(number: number): Ledger {
    const ledger = this.ledgers[number - this.firstLedger]
    if (ledger === undefined) throw new Error(`the stand-in has no ledger ${number}`)
    return ledger
  }

  /** By the hash of the envelope, or of the envelope inside of a fee bump. */
  find(hash: string): Transaction | undefined {
    return this.#byHash.get(hash)
  }

  /** The entries of the newest ledger. */
  get reads(): Reads {
    return this.store.at(this.latest.number)
  }

  /** The next ledger as a queue expects it. */
  get #expected(): Checked {
    const { number, closeTime } = this.latest
    const upper =
      Math.max(closeTime, Math.floor(this.#now() / second)) +
      Math.ceil((aheadLedgers * this.store.voted.closeTime) / second)
    return { reads: this.reads, ledger: number + 1, closeTime: { lower: closeTime, upper } }
  }

  /** What `sendTransaction` of a node does. The other nodes hear of what one has accepted. Undefined: no valid XDR. */
  submit(node: number, text: string): { readonly hash: string; readonly answer: Answer } | undefined {
    const envelope = decode(this.networkId, text)
    const queue = this.nodes[node]
    if (envelope === undefined || queue === undefined) return undefined
    const answer = queue.add(envelope, this.#expected)
    if (answer.status === "PENDING") {
      for (const other of this.nodes) if (other !== queue) other.add(envelope, this.#expected)
    }
    return { hash: hashOf(envelope), answer }
  }

  /**
   * Another program with the same key uses the next sequence of an account: the next ledger has its transaction, in place of one of the
   * queue. It has no signature, so that it fails with `txBAD_AUTH`, and no effect but its fee.
   */
  useSequence(address: string): void {
    const account = accountIn(this.reads, address)
    if (account === undefined) return
    const unsigned = transaction(address, [Operation.bumpSequence({ bumpTo: "0" })], {
      sequence: account.sequence + 1n
    })
    const envelope = decode(this.networkId, unsigned.toXDR())
    if (envelope !== undefined) this.#forced = [...this.#forced, envelope]
  }

  /** The valid transactions with the highest rates, one per account, and the rate that all of them pay. */
  #chosen(at: Checked): { readonly envelopes: ReadonlyArray<Envelope>; readonly rate: bigint } {
    const byHash = new Map(this.nodes.flatMap(({ envelopes }) => envelopes).map((one) => [hashOf(one), one]))
    const candidates = [...byHash.values()].filter((one) => isValid(one, at)).toSorted((a, b) => compareRates(b, a))
    const chosen = [...this.#forced]
    const sources = new Set(chosen.map(({ source }) => source))
    this.#forced = []
    const used = new Map<boolean, bigint>()
    let isFull = false
    let calls = 0
    for (const one of candidates) {
      const total = (used.get(one.isSoroban) ?? 0n) + operationsOf(one)
      if (sources.has(one.source)) continue
      const call = one.isSoroban ? (one.bump === undefined ? 1 : callsOfBump) : 0
      if (total > this.ledgerOperations || calls + call > this.store.voted.calls.perLedger) {
        isFull = true
        continue
      }
      calls += call
      sources.add(one.source)
      used.set(one.isSoroban, total)
      chosen.push(one)
    }
    const { baseFee } = this.store.voted
    const last = chosen.at(-1)
    const lowest = last === undefined ? baseFee : inclusionFeeOf(last) / operationsOf(last)
    return { envelopes: chosen, rate: isFull && lowest > baseFee ? lowest : baseFee }
  }

  /** `processFeesSeqNums`: all fees are taken before the first transaction is applied. */
  #charge(envelope: Envelope, changes: Changes, rate: bigint): bigint {
    const highest = inclusionFeeOf(envelope)
    const wanted = rate * operationsOf(envelope)
    const fee = envelope.resourceFee + (wanted < highest ? wanted : highest)
    const payer = accountIn(changes, feeSourceOf(envelope))
    if (payer === undefined) return 0n
    const charged = payer.balance < fee ? payer.balance : fee
    changes.setAccount({ ...payer, balance: payer.balance - charged })
    return charged
  }

  /** Closes the next ledger. Close times rise by at least a second. */
  close(): Ledger {
    if (!this.isRunning) return this.latest
    const number = this.latest.number + 1
    const closeTime = Math.max(this.latest.closeTime + 1, Math.floor(this.#now() / second))
    const at = { reads: this.reads, ledger: number, closeTime: { lower: closeTime, upper: closeTime } }
    const { envelopes, rate } = this.#chosen(at)
    const changes = new Changes(this.reads)
    const charged = envelopes.map((envelope) => this.#charge(envelope, changes, rate))
    const closing = { ledger: number, closeTime, passphrase: this.passphrase }
    const transactions = envelopes.map((envelope, index): Transaction => {
      const { verdict, meta } = applyTransaction(envelope, changes, closing, charged[index] ?? 0n)
      return {
        hash: hashOf(envelope),
        innerHash: envelope.inner.hash,
        source: envelope.source,
        sequence: String(envelope.sequence),
        ledger: number,
        order: index + 1,
        isFeeBump: envelope.bump !== undefined,
        isSoroban: envelope.isSoroban,
        isSuccess: isSuccess(verdict),
        rate: Number(((charged[index] ?? 0n) - envelope.resourceFee) / BigInt(envelope.transaction.operations.length)),
        envelope: envelope.text,
        result: resultXdr(verdict),
        meta
      }
    })
    const ledger = { number, closeTime, hash: this.#hashOf(number, closeTime), transactions }
    this.replay({ ledger, entries: [...changes.written] })
    for (const queue of this.nodes) queue.close(envelopes, this.#expected)
    return ledger
  }

  /** Adds XLM to an account, and creates it if it does not exist, without a transaction. */
  grant(address: string, stroops: bigint): void {
    const { latest } = this
    const account = accountIn(this.reads, address)
    const granted =
      account === undefined
        ? newAccount(address, stroops, latest.number)
        : { ...account, balance: account.balance + stroops }
    this.put(keyOf.account(address), granted)
  }

  /** Sets an entry, or deletes it, in the newest ledger. */
  put(key: string, entry: Entry | undefined): void {
    this.replay({ ledger: this.latest, entries: [[key, entry]] })
  }

  /** Writes what a ledger or a grant has changed. A start from a journal repeats it. */
  replay(written: Written): void {
    if (written.ledger.number > this.latest.number) this.#append(written.ledger)
    this.store.write(written.ledger.number, written.entries)
    this.record(written)
  }
}
