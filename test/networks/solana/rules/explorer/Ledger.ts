// The ledger of an episode: its rows, the copy that a restore puts back, and the final states that callers saw before a restore.
import { isFinal } from "../../../../../src/networks/core/Transaction.ts"
import type { Attempt, FinalState, Transaction } from "../../../../../src/networks/core/Transaction.ts"
import type { Solana } from "../../../../../src/networks/solana/rules/Solana.ts"
import type { Conclusion, TakenAttempt } from "../../../../../src/networks/solana/rules/SolanaSeen.ts"
import { attempt, pending } from "../Situations.ts"
import type { Random } from "./Random.ts"
import { stepMillis } from "./Setting.ts"
import type { Setting } from "./Setting.ts"

export interface Row {
  readonly id: number
  /** What it executes. Equal requests have equal bodies. */
  readonly body: number
  readonly version: number
  readonly transaction: Transaction<Solana>
  /** The blockhash that a prebuilt request brings. */
  readonly blockhash?: string
  /** The signature that finished it. */
  readonly by?: string
  /** The operator has given it up after a restore. */
  readonly isGivenUp?: true
}

/** The final state of a transaction that a caller saw before a restore. */
export interface Told {
  readonly state: FinalState
  readonly by?: string
  readonly isGivenUp?: true
}

interface Restore {
  /** No bytes from before it can land above this height. Absent: no provider has answered yet. */
  readonly bound?: number
  readonly isRead: boolean
}

/** An attempt that was not sent yet. What the decisions do not read is that of the tables. */
export const attemptOf = (
  { hash, offer, maxFee }: Pick<Attempt<Solana>, "hash" | "offer" | "maxFee">,
  ordinal: number,
  kind: Attempt["kind"] = "original"
): Attempt<Solana> => {
  const { lastSentAt: _, ...unsent } = attempt
  return { ...unsent, ordinal, kind, hash, offer, maxFee, sends: 0, outcome: "unknown" }
}

/** What the ledger has of a signature that was given away. */
const givenOf = ({ hash, maxFee, offer }: TakenAttempt) => ({ hash, offer: { ...offer, fee: maxFee, out: 0n } })

export const makeLedger = (setting: Setting, random: Random) => {
  const { chance, int } = random
  let rows = new Map<number, Row>()
  let given = new Map<number, TakenAttempt>()
  let copy: { readonly rows: Map<number, Row>; readonly given: Map<number, TakenAttempt> } | undefined
  const told = new Map<number, Told>()
  /** Every signature that was ever made for a request, also those that the ledger has forgotten. */
  const made = new Map<number, Set<string>>()
  const names = new Map<string, string>()

  const transactionOf = (now: number, facts: Transaction<Solana>["facts"]): Transaction<Solana> => ({
    ...pending,
    facts,
    causeSince: now,
    validUntil: now + (60 + int(120)) * stepMillis
  })

  const accept = (id: number, now: number, given?: TakenAttempt, blockhash?: string): void => {
    const facts = {
      isRefreshable: chance(0.8),
      isPrebuilt: given !== undefined || blockhash !== undefined,
      ...(given === undefined ? {} : { given: givenOf(given) })
    }
    const body = setting.equal && given === undefined ? 0 : id
    const own = blockhash ?? given?.offer.blockhash
    const row = { id, body, version: 0, transaction: transactionOf(now, facts) }
    rows.set(id, own === undefined ? row : { ...row, blockhash: own })
  }

  /** Equal bytes have one signature. */
  const signatureOf = (body: number, blockhash: string, variant: number): string => {
    const bytes = `${body} ${blockhash} ${variant}`
    const name = names.get(bytes) ?? `s${names.size}`
    names.set(bytes, name)
    return name
  }

  const isUsed = (signature: string, id: number): boolean =>
    [...rows.values()].some(
      (row) => row.id !== id && row.transaction.attempts.some(({ hash }) => hash === signature)
    ) || [...given].some(([owner, { hash }]) => owner !== id && hash === signature)

  const ledger = {
    epoch: 1,
    /** Changes with each restore, so that a commit of before is refused. */
    mark: 0,
    restore: undefined as Restore | undefined,
    told,
    rows: (): ReadonlyArray<Row> => [...rows.values()],
    open: (): ReadonlyArray<Row> => [...rows.values()].filter(({ transaction }) => !isFinal(transaction)),
    row: (id: number): Row | undefined => rows.get(id),
    accept,
    given: (): ReadonlyMap<number, TakenAttempt> => given,
    give: (id: number, taken: TakenAttempt): void => {
      given.set(id, taken)
    },
    save: (
      row: Row,
      transaction: Partial<Transaction<Solana>>,
      more: Partial<Pick<Row, "by" | "isGivenUp">> = {}
    ): Row => {
      const saved = { ...row, ...more, version: row.version + 1, transaction: { ...row.transaction, ...transaction } }
      rows.set(row.id, saved)
      return saved
    },
    madeFor: (id: number): ReadonlySet<string> => made.get(id) ?? new Set(),
    make: (id: number, signature: string): void => {
      made.set(id, (made.get(id) ?? new Set()).add(signature))
    },
    signatureOf,
    isUsed,
    /** The compute limit of an equal message is raised by one until no other row has its signature. */
    freeSignature: (row: Row, blockhash: string): string => {
      let variant = 0
      while (isUsed(signatureOf(row.body, blockhash, variant), row.id)) variant++
      return signatureOf(row.body, blockhash, variant)
    },
    knownSignatures: (): ReadonlySet<string> =>
      new Set([
        ...[...rows.values()].flatMap(({ transaction }) => transaction.attempts.map(({ hash }) => hash)),
        ...[...given.values()].map(({ hash }) => hash)
      ]),
    hasCopy: () => copy !== undefined,
    backUp: (): void => {
      copy = { rows: new Map(rows), given: new Map(given) }
    },
    /** Puts the copy back. What was accepted, signed, canceled or finished after it is forgotten. */
    putBack: (): void => {
      if (copy === undefined) return
      for (const { id, transaction, by, isGivenUp } of rows.values()) {
        const { state } = transaction
        if (state !== "confirmed" && state !== "failed" && state !== "canceled" && state !== "expired") continue
        told.set(id, { state, ...(by === undefined ? {} : { by }), ...(isGivenUp === undefined ? {} : { isGivenUp }) })
      }
      rows = copy.rows
      given = copy.given
      copy = undefined
      ledger.mark++
      ledger.epoch += 10
      ledger.restore = { isRead: false }
      for (const row of rows.values()) {
        if (!isFinal(row.transaction)) ledger.save(row, { restored: setting.without.restoreMarks !== true })
      }
    }
  }
  return ledger
}

export type Ledger = ReturnType<typeof makeLedger>

/** What a process remembers of the looks of one row, by provider. It is lost with the process. */
export type Memory = Map<string, { readonly at: number; readonly conclusion: Conclusion }>
