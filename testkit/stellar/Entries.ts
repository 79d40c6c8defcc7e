// The entries of the stand-in ledger, with all their versions, so that a provider that lags shows an older ledger.
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import { StrKey, xdr } from "@stellar/stellar-sdk/base"
import { publicVote } from "./Voted.ts"
import type { Voted } from "./Voted.ts"

/** Entries that every account counts as (`getMinBalance` of stellar-core). */
const ownEntries = 2n

export interface Signer {
  readonly address: string
  readonly weight: number
  /** The account that pays the reserve of the signer. */
  readonly sponsor?: string
}

export interface Account {
  readonly kind: "account"
  readonly address: string
  readonly balance: bigint
  readonly sequence: bigint
  /** The ledger and the close time at which the account used its sequence for the last time. 0: never. */
  readonly seqLedger: number
  readonly seqTime: bigint
  readonly masterWeight: number
  readonly thresholds: { readonly low: number; readonly medium: number; readonly high: number }
  readonly signers: ReadonlyArray<Signer>
  /** Signers and trust lines. */
  readonly subEntries: number
  readonly sponsoring: number
  readonly sponsored: number
  readonly sponsor?: string
  /** Whether new trust lines of an issuer can be clawed back. */
  readonly clawback: boolean
}

export interface Trustline {
  readonly kind: "trustline"
  readonly address: string
  /** `CODE:ISSUER`. */
  readonly asset: string
  readonly balance: bigint
  readonly limit: bigint
  readonly sponsor?: string
}

/** The contract's data. An archived entry has to be restored before a call. */
interface Counter {
  readonly kind: "counter"
  readonly value: number
  readonly isArchived: boolean
}

/** What `spender` may transfer from `owner` by the contract of a token, until a ledger. */
interface Allowance {
  readonly kind: "allowance"
  readonly amount: bigint
  readonly untilLedger: number
}

/** What an address has of the token that is only a contract. */
interface Holding {
  readonly kind: "holding"
  readonly amount: bigint
}

/** A nonce of an address that an authorization has used. */
interface Nonce {
  readonly kind: "nonce"
}

export type Entry = Account | Trustline | Counter | Allowance | Holding | Nonce

export const keyOf = {
  account: (address: string) => `account ${address}`,
  trustline: (address: string, asset: string) => `trustline ${address} ${asset}`,
  counter: "counter",
  allowance: (token: string, owner: string, spender: string) => `allowance ${token} ${owner} ${spender}`,
  holding: (address: string) => `holding ${address}`,
  nonce: (address: string, nonce: bigint) => `nonce ${address} ${nonce}`
}

export interface Reads {
  readonly voted: Voted
  get(key: string): Entry | undefined
}

export const accountIn = (reads: Reads, address: string): Account | undefined => {
  const entry = reads.get(keyOf.account(address))
  return entry?.kind === "account" ? entry : undefined
}

export const trustlineIn = (reads: Reads, address: string, asset: string): Trustline | undefined => {
  const entry = reads.get(keyOf.trustline(address, asset))
  return entry?.kind === "trustline" ? entry : undefined
}

export const minimumBalance = (
  { subEntries, sponsoring, sponsored }: Account,
  { voted }: Pick<Reads, "voted">
): bigint => (ownEntries + BigInt(subEntries + sponsoring - sponsored)) * voted.baseReserve

/** `getAvailableBalance` of stellar-core: what fees and operations can take. */
export const availableBalance = (account: Account, reads: Pick<Reads, "voted">): bigint =>
  account.balance - minimumBalance(account, reads)

/** Writes that are kept or dropped as a whole: `LedgerTxn` of stellar-core. */
export class Changes implements Reads {
  readonly #below: Reads
  readonly written = new Map<string, Entry | undefined>()
  constructor(below: Reads) {
    this.#below = below
  }
  get voted(): Voted {
    return this.#below.voted
  }
  get(key: string): Entry | undefined {
    return this.written.has(key) ? this.written.get(key) : this.#below.get(key)
  }
  set(key: string, entry: Entry | undefined): void {
    this.written.set(key, entry)
  }
  setAccount(account: Account): void {
    this.set(keyOf.account(account.address), account)
  }
  mergeInto(target: Changes): void {
    for (const [key, entry] of this.written) target.set(key, entry)
  }
}

interface Version {
  readonly ledger: number
  readonly entry: Entry | undefined
}

/** Every entry at every ledger. */
export class Store {
  readonly #versions = new Map<string, Array<Version>>()
  /** It counts at once, and also for ledgers before. */
  voted: Voted = publicVote

  versionAt(key: string, ledger: number): Version | undefined {
    return this.#versions.get(key)?.findLast((version) => version.ledger <= ledger)
  }

  at(ledger: number): Reads {
    return { voted: this.voted, get: (key) => this.versionAt(key, ledger)?.entry }
  }

  write(ledger: number, changes: Iterable<readonly [string, Entry | undefined]>): void {
    for (const [key, entry] of changes) {
      const versions = this.#versions.get(key) ?? []
      if (versions.at(-1)?.ledger === ledger) versions.pop()
      versions.push({ ledger, entry })
      this.#versions.set(key, versions)
    }
  }
}

export const newAccount = (address: string, balance: bigint, ledger: number): Account => ({
  kind: "account",
  address,
  balance,
  // `getStartingSequenceNumber` of stellar-core.
  sequence: BigInt(ledger) << 32n,
  seqLedger: 0,
  seqTime: 0n,
  masterWeight: 1,
  thresholds: { low: 0, medium: 0, high: 0 },
  signers: [],
  subEntries: 0,
  sponsoring: 0,
  sponsored: 0,
  clawback: false
})

export const publicKeyOf = (address: string): Xdr.PublicKey =>
  xdr.PublicKey.publicKeyTypeEd25519(StrKey.decodeEd25519PublicKey(address))

const accountData = (account: Account): Xdr.LedgerEntryData => {
  const v3 = new xdr.AccountEntryExtensionV3({
    ext: xdr.ExtensionPoint.v0(),
    seqLedger: account.seqLedger,
    seqTime: account.seqTime
  })
  const v2 = new xdr.AccountEntryExtensionV2({
    numSponsored: account.sponsored,
    numSponsoring: account.sponsoring,
    signerSponsoringIDs: account.signers.map(({ sponsor }) => (sponsor === undefined ? null : publicKeyOf(sponsor))),
    ext: xdr.AccountEntryExtensionV2Ext.v3(v3)
  })
  const v1 = new xdr.AccountEntryExtensionV1({
    liabilities: new xdr.Liabilities({ buying: 0n, selling: 0n }),
    ext: xdr.AccountEntryExtensionV1Ext.v2(v2)
  })
  const { low, medium, high } = account.thresholds
  return xdr.LedgerEntryData.account(
    new xdr.AccountEntry({
      accountId: publicKeyOf(account.address),
      balance: account.balance,
      seqNum: account.sequence,
      numSubEntries: account.subEntries,
      inflationDest: null,
      flags: account.clawback ? 8 : 0,
      homeDomain: "",
      thresholds: new Uint8Array([account.masterWeight, low, medium, high]),
      signers: account.signers.map(
        ({ address, weight }) =>
          new xdr.Signer({
            key: xdr.SignerKey.signerKeyTypeEd25519(StrKey.decodeEd25519PublicKey(address)),
            weight
          })
      ),
      ext: xdr.AccountEntryExt.v1(v1)
    })
  )
}

/** The entry as `getLedgerEntries` shows it. Contract data is not shown: the service reads it by simulation only. */
export const dataOf = (entry: Entry, asset: (name: string) => Xdr.TrustLineAsset): Xdr.LedgerEntryData | undefined => {
  if (entry.kind === "account") return accountData(entry)
  if (entry.kind !== "trustline") return undefined
  return xdr.LedgerEntryData.trustline(
    new xdr.TrustLineEntry({
      accountId: publicKeyOf(entry.address),
      asset: asset(entry.asset),
      balance: entry.balance,
      limit: entry.limit,
      flags: 1,
      ext: xdr.TrustLineEntryExt.v0()
    })
  )
}

/** What an operation, or the use of a sequence, has changed of accounts, as the meta of a transaction shows it. */
export const accountChanges = (before: Reads, { written }: Changes, ledger: number): Array<Xdr.LedgerEntryChange> => {
  const { LedgerEntryChange: changes } = xdr
  const entryOf = (account: Account) =>
    new xdr.LedgerEntry({ lastModifiedLedgerSeq: ledger, data: accountData(account), ext: xdr.LedgerEntryExt.v0() })
  return [...written].flatMap(([key, after]): ReadonlyArray<Xdr.LedgerEntryChange> => {
    const former = before.get(key)
    const state = former?.kind === "account" ? [changes.ledgerEntryState(entryOf(former))] : []
    if (after?.kind === "account") {
      const entry = entryOf(after)
      return [...state, state.length === 0 ? changes.ledgerEntryCreated(entry) : changes.ledgerEntryUpdated(entry)]
    }
    if (former?.kind !== "account" || after !== undefined) return []
    const removed = xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId: publicKeyOf(former.address) }))
    return [...state, changes.ledgerEntryRemoved(removed)]
  })
}
