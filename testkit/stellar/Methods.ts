// The methods of stellar-rpc, over the ledgers that one provider shows.
import { Address, Asset, StrKey, xdr } from "@stellar/stellar-sdk/base"
import { creditContract } from "./Calls.ts"
import { nativeContract, ownContracts } from "./Contracts.ts"
import { dataOf, keyOf } from "./Entries.ts"
import type { Account, Entry } from "./Entries.ts"
import type { Ledger, Network, Transaction } from "./Network.ts"
import { resultXdr } from "./Results.ts"
import { ledgerXdr, settingOf } from "./Voted.ts"
import { simulate } from "./Simulation.ts"
import type { Script } from "./Simulation.ts"

/** What a provider shows of the network. Each lie of `Provider.ts` changes one of these. */
export interface View {
  readonly network: Network
  readonly node: number
  readonly passphrase: string
  readonly protocolVersion: number
  /** The newest ledger that this answer knows. */
  readonly newest: Ledger
  /** The newest ledger that answers about transactions name. */
  readonly indexed: Ledger
  /** Whether the transactions of a ledger are shown. */
  isIndexed(ledger: Ledger): boolean
  /** Ledgers that the provider keeps. */
  readonly retention: number
  /** What is added to close times. */
  readonly closeTimeOffset: number
  /** What is added to the number of the newest ledger. */
  readonly ledgerOffset: number
  /** The newest ledger of `getTransaction`'s first read, which looks for the hash. It reads the range of its store afterwards. */
  readonly lookedUp: Ledger
  /** Changes an account before it is shown. */
  account(account: Account): Account
  /** Changes what is known of a transaction. Undefined: it is hidden. */
  transaction(hash: string, found: Transaction | undefined): Transaction | undefined
  /** Changes a result before it is shown. */
  result(xdr: string): string
  /** Whether stellar-core answers FILTERED to the envelope. */
  isFiltered(text: string): boolean
  /** Whether `NOT_FOUND` has no field but those of the store. */
  readonly isBare: boolean
  /** Whether `getTransactions` shows a transaction. */
  isShown(transaction: Transaction): boolean
  readonly script: Script
}

export class RpcError extends Error {
  readonly code: number
  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

const invalidParams = (message: string) => new RpcError(-32602, message)

type Params = Readonly<Record<string, unknown>>

type Method = (view: View, params: Params) => unknown

const textOf = (params: Params, name: string): string => {
  const value = params[name]
  if (typeof value !== "string") throw invalidParams(`${name} is missing`)
  return value
}

const range = (view: View, newest = view.newest) => {
  const { network, retention, closeTimeOffset, ledgerOffset } = view
  const oldest = network.ledgerAt(Math.max(network.firstLedger, newest.number - retention + 1))
  return {
    latest: newest.number + ledgerOffset,
    latestTime: newest.closeTime + closeTimeOffset,
    oldest: oldest.number,
    oldestTime: oldest.closeTime + closeTimeOffset
  }
}

const sendTransaction: Method = (view, params) => {
  const text = textOf(params, "transaction")
  if (view.isFiltered(text)) throw new RpcError(-32603, "invalid status from stellar-core")
  const submitted = view.network.submit(view.node, text)
  if (submitted === undefined) throw invalidParams("invalid_xdr")
  const { hash, answer } = submitted
  const { latest, latestTime } = range(view)
  const common = { status: answer.status, hash, latestLedger: latest, latestLedgerCloseTime: String(latestTime) }
  return answer.status === "ERROR" ? { ...common, errorResultXdr: view.result(resultXdr(answer.verdict)) } : common
}

const shown = (transaction: Transaction, closeTime: number) => ({
  status: transaction.isSuccess ? "SUCCESS" : "FAILED",
  txHash: transaction.hash,
  applicationOrder: transaction.order,
  feeBump: transaction.isFeeBump,
  envelopeXdr: transaction.envelope,
  resultXdr: transaction.result,
  resultMetaXdr: transaction.meta,
  ledger: transaction.ledger,
  createdAt: closeTime
})

/** The look-up comes first, the range of the store afterwards: `NOT_FOUND` beside a new ledger is no proof. */
const getTransaction: Method = (view, params) => {
  const hash = textOf(params, "hash").toLowerCase()
  if (!/^[0-9a-f]{64}$/.test(hash)) throw invalidParams("unexpected hash length")
  const stored = view.network.find(hash)
  const isKnown =
    stored !== undefined &&
    stored.ledger <= view.lookedUp.number &&
    view.isIndexed(view.network.ledgerAt(stored.ledger))
  const found = view.transaction(hash, isKnown ? stored : undefined)
  const { latest, latestTime, oldest, oldestTime } = range(view, view.indexed)
  const store = {
    latestLedger: latest,
    latestLedgerCloseTime: String(latestTime),
    oldestLedger: oldest,
    oldestLedgerCloseTime: String(oldestTime)
  }
  if (found === undefined || found.ledger < oldest)
    return { ...store, status: "NOT_FOUND", ...(view.isBare ? {} : { txHash: hash, ledger: 0, createdAt: "0" }) }
  const { createdAt, ...rest } = shown(found, view.network.ledgerAt(found.ledger).closeTime + view.closeTimeOffset)
  const resultXdr = view.result(rest.resultXdr)
  return { ...store, ...rest, resultXdr, txHash: hash, createdAt: String(createdAt) }
}

const trustlineAsset = (asset: xdr.TrustLineAsset): string | undefined => {
  if (asset.type === "assetTypeCreditAlphanum4")
    return Asset.fromOperation(xdr.Asset.assetTypeCreditAlphanum4(asset.alphaNum4)).toString()
  if (asset.type === "assetTypeCreditAlphanum12")
    return Asset.fromOperation(xdr.Asset.assetTypeCreditAlphanum12(asset.alphaNum12)).toString()
  return undefined
}

const addressOf = ({ ed25519 }: xdr.PublicKey): string => StrKey.encodeEd25519PublicKey(ed25519.value)

const keyOfLedgerKey = (key: xdr.LedgerKey): string | undefined => {
  if (key.type === "account") return keyOf.account(addressOf(key.account.accountId))
  if (key.type !== "trustline") return undefined
  const asset = trustlineAsset(key.trustLine.asset)
  return asset === undefined ? undefined : keyOf.trustline(addressOf(key.trustLine.accountId), asset)
}

const toTrustLineAsset = (name: string): xdr.TrustLineAsset => {
  const [code = "", issuer] = name.split(":")
  return new Asset(code, issuer).toTrustLineXDRObject()
}

/** What a contract executes: that of an asset, or code. Undefined: another entry, or no contract of the stand-in. */
const instanceOf = (
  { contract, durability, key }: xdr.LedgerKeyContractData,
  passphrase: string
): xdr.LedgerEntryData | undefined => {
  const address = Address.fromScAddress(contract).toString()
  const isAsset = address === nativeContract(passphrase) || address === creditContract(passphrase)
  if (key.type !== "scvLedgerKeyContractInstance" || !(isAsset || ownContracts.has(address))) return undefined
  const executable = isAsset
    ? xdr.ContractExecutable.contractExecutableStellarAsset()
    : xdr.ContractExecutable.contractExecutableWasm(new Uint8Array(32))
  const val = xdr.ScVal.scvContractInstance(new xdr.ScContractInstance({ executable, storage: null }))
  const ext = xdr.ExtensionPoint.v0()
  return xdr.LedgerEntryData.contractData(new xdr.ContractDataEntry({ ext, contract, key, durability, val }))
}

/** stellar-rpc takes at most this many keys. */
const maxKeys = 200

/** Fixes the ledger first, and reads all entries at it. */
const getLedgerEntries: Method = (view, params) => {
  const { keys } = params
  if (!Array.isArray(keys) || keys.length > maxKeys) throw invalidParams(`keys: expected at most ${maxKeys}`)
  const entries = keys.flatMap((text: unknown) => {
    let key: xdr.LedgerKey
    try {
      key = xdr.LedgerKey.fromXdr(String(text), "base64")
    } catch {
      throw invalidParams("cannot unmarshal key value")
    }
    if (key.type === "configSetting") {
      const setting = settingOf(key.configSetting.configSettingId.name, view.network.store.voted)
      return setting === undefined ? [] : [{ key: text, xdr: setting.toXdr("base64"), lastModifiedLedgerSeq: 1 }]
    }
    const instance = key.type === "contractData" ? instanceOf(key.contractData, view.network.passphrase) : undefined
    if (instance !== undefined) return [{ key: text, xdr: instance.toXdr("base64"), lastModifiedLedgerSeq: 1 }]
    const name = keyOfLedgerKey(key)
    const version = name === undefined ? undefined : view.network.store.versionAt(name, view.newest.number)
    if (version?.entry === undefined) return []
    const entry: Entry = version.entry.kind === "account" ? view.account(version.entry) : version.entry
    const data = dataOf(entry, toTrustLineAsset)
    return data === undefined ? [] : [{ key: text, xdr: data.toXdr("base64"), lastModifiedLedgerSeq: version.ledger }]
  })
  return { entries, latestLedger: view.newest.number + view.ledgerOffset }
}

const defaultPage = 50
const maxPage = 200

/** The place of a transaction: the ledger in the upper half, the order in the lower one, as `toid` of stellar-rpc. */
const cursorOf = (ledger: number, order: number): bigint => (BigInt(ledger) << 32n) | (BigInt(order) << 12n)

const getTransactions: Method = (view, params) => {
  const { startLedger, pagination } = params
  const { cursor, limit = defaultPage } = (pagination ?? {}) as { cursor?: string; limit?: number }
  const { latest, latestTime, oldest, oldestTime } = range(view, view.indexed)
  if (cursor === undefined && (typeof startLedger !== "number" || startLedger < oldest || startLedger > latest)) {
    throw new RpcError(
      -32600,
      `start ledger must be between the oldest ledger: ${oldest} and the latest ledger: ${latest}`
    )
  }
  if (limit > maxPage) throw invalidParams(`limit must not exceed ${maxPage}`)
  const after = cursor === undefined ? cursorOf(Number(startLedger), 0) : BigInt(cursor)
  const transactions: Array<ReturnType<typeof shown>> = []
  let last = after
  let number = Math.max(Number(after >> 32n), oldest)
  for (; number <= view.newest.number && transactions.length < limit; number++) {
    const ledger = view.network.ledgerAt(number)
    if (!view.isIndexed(ledger)) continue
    const { transactions: applied, closeTime } = ledger
    for (const one of applied) {
      const place = cursorOf(number, one.order)
      if (place <= after || !view.isShown(one) || transactions.length >= limit) continue
      transactions.push(shown(one, closeTime + view.closeTimeOffset))
      last = place
    }
  }
  const isEnd = transactions.length < limit
  return {
    transactions,
    latestLedger: latest,
    latestLedgerCloseTimestamp: latestTime,
    oldestLedger: oldest,
    oldestLedgerCloseTimestamp: oldestTime,
    cursor: String(isEnd ? cursorOf(view.newest.number, 0) | 0xffffffffn : last)
  }
}

const getLatestLedger: Method = (view) => {
  const { latest, latestTime } = range(view)
  const { voted } = view.network.store
  return {
    id: view.newest.hash,
    protocolVersion: view.protocolVersion,
    sequence: latest,
    closeTime: String(latestTime),
    ...ledgerXdr({ ...view.newest, number: latest, closeTime: latestTime }, voted)
  }
}

const getHealth: Method = (view) => {
  const { latest, latestTime, oldest, oldestTime } = range(view)
  return {
    status: "healthy",
    latestLedger: latest,
    latestLedgerCloseTime: String(latestTime),
    oldestLedger: oldest,
    oldestLedgerCloseTime: String(oldestTime),
    ledgerRetentionWindow: view.retention
  }
}

const getNetwork: Method = ({ passphrase, protocolVersion }) => ({ passphrase, protocolVersion })

const percentiles = [10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99] as const

const distribution = (rates: ReadonlyArray<number>, ledgers: number) => {
  const sorted = rates.toSorted((a, b) => a - b)
  const at = (percent: number) => String(sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? 0)
  const counts = Map.groupBy(sorted, (rate) => rate)
  const mode = [...counts].toSorted(([, a], [, b]) => b.length - a.length).at(0)?.[0] ?? 0
  return {
    max: String(sorted.at(-1) ?? 0),
    min: String(sorted.at(0) ?? 0),
    mode: String(mode),
    ...Object.fromEntries(percentiles.map((percent) => [`p${percent}`, at(percent)])),
    transactionCount: String(sorted.length),
    ledgerCount: ledgers
  }
}

/** Ledgers of the two distributions (the defaults of stellar-rpc). */
const feeLedgers = { classic: 10, soroban: 50 } as const

const getFeeStats: Method = (view) => {
  const of = (isSoroban: boolean, ledgers: number) => {
    const first = Math.max(view.network.firstLedger, view.newest.number - ledgers + 1)
    const numbers = Array.from({ length: view.newest.number - first + 1 }, (_, index) => first + index)
    const rates = numbers.flatMap((number) =>
      view.network
        .ledgerAt(number)
        .transactions.filter((one) => one.isSoroban === isSoroban)
        .map(({ rate }) => rate)
    )
    return distribution(rates, ledgers)
  }
  return {
    sorobanInclusionFee: of(true, feeLedgers.soroban),
    inclusionFee: of(false, feeLedgers.classic),
    latestLedger: range(view).latest
  }
}

const simulateTransaction: Method = (view, params) => {
  const { authMode } = params
  const mode = authMode === "enforce" || authMode === "record" ? authMode : undefined
  const answer = simulate(view.network, view.newest, textOf(params, "transaction"), view.script, mode)
  // An error of the request is a result without a ledger.
  if (answer === undefined) return { error: "Could not unmarshal transaction", latestLedger: 0 }
  return { ...answer, latestLedger: range(view).latest }
}

const methods: Readonly<Record<string, Method>> = {
  sendTransaction,
  getTransaction,
  getLedgerEntries,
  getTransactions,
  getLatestLedger,
  getHealth,
  getNetwork,
  getFeeStats,
  simulateTransaction
}

export const call = (view: View, method: string, params: Params): unknown => {
  const found = methods[method]
  if (found === undefined) throw new RpcError(-32601, "method not found")
  return found(view, params)
}
