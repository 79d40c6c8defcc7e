// The providers of the network in memory as JSON-RPC, for the real service: the calls that it makes, as stellar-rpc answers them.
import { headOf } from "../chain/Blocks.ts"
import * as Door from "../chain/Door.ts"
import { failed, memberOf, result } from "../chain/Door.ts"
import type { Reply } from "../chain/Door.ts"
import { findIn, isResult, sequenceIn } from "./Chain.ts"
import type { Chain, Found, Provider } from "./Chain.ts"
import { outcomeOf } from "./Views.ts"
import { addressInKey, entryOf, opened, resultOf } from "./Wire.ts"
import type { Bytes } from "./Wire.ts"

interface Served {
  readonly chain: Chain
  readonly passphrase: string
}

type Method = (served: Served, provider: Provider, params: unknown) => Reply

/** Version of the protocol that the kit claims to have. */
const protocolVersion = 23

const invalidParams = -32_602

const base64Of = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64")
const bytesOf = (text: unknown): Uint8Array =>
  typeof text === "string" ? Uint8Array.from(Buffer.from(text, "base64")) : new Uint8Array()

/** The newest ledger of a provider, and the oldest one that it keeps. */
const storeOf = ({ chain }: Served, provider: Provider) => {
  const { number } = headOf(chain.shownBy(provider))
  return {
    latestLedger: number,
    latestLedgerCloseTime: String(chain.closeTimeOf(number)),
    oldestLedger: 1,
    oldestLedgerCloseTime: String(chain.closeTimeOf(1))
  }
}

const shown = ({ chain }: Served, found: Found) => {
  const { code, operations } = outcomeOf(found)
  return {
    status: found.isSuccess ? "SUCCESS" : "FAILED",
    txHash: found.bytes.hash,
    ledger: found.block.number,
    envelopeXdr: base64Of(found.bytes.raw),
    resultXdr: base64Of(resultOf(code, chain.feeOf(found.bytes), operations))
  }
}

const transaction: Method = (served, provider, params) => {
  const hash = memberOf(params, "hash")
  const found = findIn(served.chain.shownBy(provider), (bytes) => bytes.hash === hash)
  return result({
    ...storeOf(served, provider),
    ...(found === undefined ? { status: "NOT_FOUND" } : shown(served, found))
  })
}

/** All in one page. The cursor is the ledger of the last one. */
const transactions: Method = (served, provider, params) => {
  const cursor = Number(memberOf(memberOf(params, "pagination"), "cursor") ?? Number.NaN)
  const from = Number.isNaN(cursor) ? Number(memberOf(params, "startLedger")) : cursor + 1
  const found = served.chain
    .shownBy(provider)
    .filter(({ number }) => number >= from)
    .flatMap((block) => block.transactions.map((mined) => shown(served, { ...mined, block })))
  const store = storeOf(served, provider)
  return result({ ...store, transactions: found, cursor: String(found.at(-1)?.ledger ?? store.latestLedger) })
}

/** Entries that are no accounts do not exist. */
const entries: Method = (served, provider, params) => {
  const { chain } = served
  const blocks = chain.shownBy(provider)
  const keys = Door.listOf(memberOf(params, "keys"))
  const found = keys.flatMap((key) => {
    const address = addressInKey(bytesOf(key))
    if (address === undefined) return []
    const xdr = base64Of(
      entryOf({ address, balance: chain.balanceIn(blocks, address), ...sequenceIn(blocks, address) })
    )
    return [{ key, xdr, lastModifiedLedgerSeq: headOf(blocks).number }]
  })
  return result({ entries: found, latestLedger: headOf(blocks).number })
}

/** Undefined: the bytes are no envelope that the kit reads. */
const read = ({ chain }: Served, text: unknown): Bytes | undefined => {
  try {
    return opened(bytesOf(text), chain.networkId)
  } catch {
    return undefined
  }
}

const send: Method = (served, provider, params) => {
  const { chain } = served
  const bytes = read(served, memberOf(params, "transaction"))
  if (bytes === undefined) return failed("invalid_xdr", invalidParams)
  const answer = chain.broadcast(provider, bytes)
  if (answer === undefined) return undefined
  const { refusal = "PENDING" } = answer
  const { latestLedger, latestLedgerCloseTime } = storeOf(served, provider)
  const sent = { hash: bytes.hash, latestLedger, latestLedgerCloseTime }
  if (!isResult(refusal)) {
    const isStatus = refusal === "PENDING" || refusal === "DUPLICATE" || refusal === "TRY_AGAIN_LATER"
    return isStatus ? result({ ...sent, status: refusal }) : failed(refusal, -32_603)
  }
  return result({ ...sent, status: "ERROR", errorResultXdr: base64Of(resultOf(refusal, chain.neededFee(bytes))) })
}

const fees: Method = ({ chain }) => {
  const price = String(chain.price)
  const all = Object.fromEntries(
    ["max", "min", "mode", ...[10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99].map((percent) => `p${percent}`)].map(
      (name) => [name, price]
    )
  )
  return result({ sorobanInclusionFee: all, inclusionFee: all, latestLedger: chain.head().number })
}

const methods: Readonly<Record<string, Method>> = {
  getNetwork: ({ passphrase }) => result({ passphrase, protocolVersion }),
  getHealth: (served, provider) => result({ status: "healthy", ...storeOf(served, provider) }),
  getVersionInfo: () => result({ version: "25.0.0", protocolVersion }),
  getLatestLedger: (served, provider) =>
    result({ id: "", protocolVersion, sequence: storeOf(served, provider).latestLedger }),
  getTransaction: transaction,
  getTransactions: transactions,
  getLedgerEntries: entries,
  getFeeStats: fees,
  sendTransaction: send
}

/** Answers each URL of the network's providers. */
export const client = (served: Served) =>
  Door.client({
    providers: served.chain.providers,
    methods: Object.fromEntries(
      Object.entries(methods).map(([name, method]) => [
        name,
        (provider: Provider, params: unknown) => method(served, provider, params)
      ])
    )
  })
