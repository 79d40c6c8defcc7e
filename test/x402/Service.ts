// A service and a chain in memory for the tests of the facilitator, with a clock that goes on when nothing else can.
import { keccak256, padHex, stringToHex } from "viem"
import { errorOf, RelayersError } from "../../packages/x402/src/Relayers.ts"
import type { Hex, Relayers, Row } from "../../packages/x402/src/Relayers.ts"
import type { Clock } from "../../packages/x402/src/Settlement.ts"
import type { ExactScheme, Scheme, SettleResponse, Signer, Store } from "../../packages/x402/src/X402.ts"

export const start = Date.UTC(2026, 0, 1)

interface Sleeper {
  readonly at: number
  readonly wake: () => void
}

/** The time goes to the next sleeper when all work is done. */
export const makeClock = (): Clock => {
  let now = start
  let isPumping = false
  const sleepers = new Set<Sleeper>()
  const pump = () => {
    isPumping = true
    setImmediate(() => {
      isPumping = false
      const next = [...sleepers].toSorted((one, other) => one.at - other.at)[0]
      if (next === undefined) return
      now = Math.max(now, next.at)
      next.wake()
      if (sleepers.size > 0 && !isPumping) pump()
    })
  }
  return {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        const wake = () => {
          sleepers.delete(sleeper)
          signal?.removeEventListener("abort", wake)
          resolve()
        }
        const sleeper = { at: now + ms, wake }
        if (signal?.aborted === true) return resolve()
        signal?.addEventListener("abort", wake)
        sleepers.add(sleeper)
        if (!isPumping) pump()
      })
  }
}

export const network = "eip155:31337"
export const asset: Hex = `0x${"a5".repeat(20)}`
export const payTo: Hex = `0x${"5e".repeat(20)}`
export const payer: Hex = `0x${"4a".repeat(20)}`

const hashOf = (text: string): Hex => keccak256(stringToHex(text))

const event = {
  used: hashOf("AuthorizationUsed(address,bytes32)"),
  transfer: hashOf("Transfer(address,address,uint256)")
}

export interface Log {
  readonly address: Hex
  readonly topics: ReadonlyArray<Hex>
  readonly data: Hex
}

export const usedLog = (nonce: Hex, from = payer): Log => ({
  address: asset,
  topics: [event.used, padHex(from), nonce],
  data: "0x"
})

export const transferLog = (value: bigint, to = payTo, from = payer): Log => ({
  address: asset,
  topics: [event.transfer, padHex(from), padHex(to)],
  data: padHex(`0x${value.toString(16)}`)
})

export interface Onchain {
  readonly hash: Hex
  readonly status: "0x1" | "0x0"
  readonly logs: ReadonlyArray<Log>
}

/** What becomes of a transaction when somebody waits for it. */
type Fate = (row: Row, service: FakeService) => Row

const mined: Fate = (row, service) => service.land({ ...row, status: "mined", minedAs: "call" })

export const stuck: Fate = (row) => row

interface Claim {
  readonly by: string
  readonly until: number
  readonly final: boolean
}

export class FakeService implements Relayers {
  readonly rows: Array<Row> = []
  readonly claims = new Map<string, Claim>()
  readonly chain: Array<Onchain> = []
  readonly clock: Clock
  /** Names of the methods that fail next, with their error. */
  readonly faults: Array<{ readonly method: keyof Relayers; readonly error: Error; readonly isDone?: boolean }> = []
  readonly sent: Array<Parameters<Relayers["send"]>[1]> = []
  fate: Fate = mined
  balance = 10n ** 12n
  relayerIds = ["r1", "r2"]
  cancels = 0

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** The block with a row: with the events of a transfer if its call succeeds. */
  land(row: Row): Row {
    const hash = row.hash ?? hashOf(row.id)
    const words = (row.data.slice(10).match(/.{64}/g) ?? []).map((one): Hex => `0x${one}`)
    const [from = "0x", to = "0x", value = "0x", , , nonce = "0x"] = words
    const logs: ReadonlyArray<Log> = [
      { address: asset, topics: [event.used, from, nonce], data: "0x" },
      { address: asset, topics: [event.transfer, from, to], data: value }
    ]
    if (!this.chain.some((one) => one.hash === hash)) this.chain.push({ hash, status: "0x1", logs })
    return { ...row, hash }
  }

  #fault(method: keyof Relayers, isDone: boolean) {
    const index = this.faults.findIndex((fault) => fault.method === method && (fault.isDone ?? false) === isDone)
    const [fault] = index === -1 ? [] : this.faults.splice(index, 1)
    if (fault !== undefined) throw errorOf(fault.error)
  }

  async #asked<A>(method: keyof Relayers, work: () => A): Promise<A> {
    await Promise.resolve()
    this.#fault(method, false)
    const result = work()
    this.#fault(method, true)
    return result
  }

  readonly relayersOf: Relayers["relayersOf"] = () =>
    this.#asked("relayersOf", () => this.relayerIds.map((id) => ({ id, address: `0x${"12".repeat(20)}` as const })))

  readonly find: Relayers["find"] = (externalId) =>
    this.#asked("find", () => this.rows.filter((row) => row.externalId === externalId))

  readonly send: Relayers["send"] = (relayerId, call) =>
    this.#asked("send", () => {
      const known = this.rows.find((row) => row.relayerId === relayerId && row.externalId === call.externalId)
      if (known !== undefined) return known
      this.sent.push(call)
      const id = `row-${this.rows.length + 1}`
      const { externalId, to, data } = call
      const row: Row = { id, relayerId, externalId, to, data, status: "pending", createdAt: this.clock.now() }
      this.rows.push(row)
      return row
    })

  /** Replaces the stored row. */
  put(row: Row): Row {
    const index = this.rows.findIndex(({ id }) => id === row.id)
    this.rows[index] = row
    return row
  }

  row(id: string): Row {
    const found = this.rows.find((row) => row.id === id)
    if (found === undefined) throw new Error(`there is no ${id}`)
    return found
  }

  readonly waitFor: Relayers["waitFor"] = async ({ id }, until, signal) => {
    const isThere = ({ status }: Row) =>
      ["confirmed", "failed", "canceled", "expired"].includes(status) || (status === "mined" && until === "mined")
    let row = await this.#asked("waitFor", () => this.put(this.fate(this.row(id), this)))
    while (!isThere(row) && !signal.aborted) {
      await this.clock.sleep(1000, signal)
      row = this.put(this.fate(this.row(id), this))
    }
    return row
  }

  readonly cancelPending: Relayers["cancelPending"] = ({ id }) =>
    this.#asked("cancelPending", () => {
      this.cancels += 1
      const row = this.row(id)
      return row.hash === undefined ? this.put({ ...row, status: "canceled" }) : undefined
    })

  readonly call: Relayers["call"] = (_, method, params) =>
    this.#asked("call", () => {
      if (method === "eth_blockNumber") return "0x1000"
      if (method === "eth_getCode") return "0x01"
      if (method === "eth_call") return padHex(`0x${this.balance.toString(16)}`)
      const shown = ({ hash, status, logs }: Onchain) => ({
        transactionHash: hash,
        status,
        logs: logs.map((log, index) => ({
          ...log,
          blockHash: hash,
          blockNumber: "0x1",
          logIndex: `0x${index.toString(16)}`,
          transactionHash: hash,
          transactionIndex: "0x0"
        }))
      })
      if (method === "eth_getTransactionReceipt") {
        const found = this.chain.find(({ hash }) => hash === params[0])
        return found === undefined ? null : shown(found)
      }
      if (method !== "eth_getLogs") throw new RelayersError("refused", `${method} is not answered`)
      const [
        {
          topics: [, from, nonce]
        }
      ] = params as readonly [{ readonly topics: ReadonlyArray<Hex> }]
      return this.chain.flatMap((one) =>
        shown(one).logs.filter(({ topics }) => topics[0] === event.used && topics[1] === from && topics[2] === nonce)
      )
    })

  #claimOf(name: string): Claim | undefined {
    const claim = this.claims.get(name)
    return claim !== undefined && (claim.final || claim.until > this.clock.now()) ? claim : undefined
  }

  readonly claim: Relayers["claim"] = (name, by, seconds) =>
    this.#asked("claim", () => {
      const held = this.#claimOf(name)
      if (held?.final === true) return "final"
      if (held !== undefined && held.by !== by) return "held"
      this.claims.set(name, { by, until: this.clock.now() + seconds * 1000, final: false })
      return "mine"
    })

  readonly finish: Relayers["finish"] = (name, by) =>
    this.#asked("finish", () => {
      const held = this.#claimOf(name)
      if (held?.by !== by) return false
      this.claims.set(name, { ...held, final: true })
      return true
    })

  readonly release: Relayers["release"] = (name, by) =>
    this.#asked("release", () => {
      if (this.#claimOf(name)?.by === by && this.#claimOf(name)?.final === false) this.claims.delete(name)
    })

  readonly claimOf: Relayers["claimOf"] = (name) =>
    this.#asked("claimOf", () => {
      const held = this.#claimOf(name)
      if (held === undefined) return "free"
      return held.final ? "final" : "held"
    })
}

const transferAbi = [
  {
    type: "function",
    name: "transferWithAuthorization",
    stateMutability: "nonpayable",
    inputs: ["address", "address", "uint256", "uint256", "uint256", "bytes32", "uint8", "bytes32", "bytes32"].map(
      (type) => ({ name: "", type })
    ),
    outputs: []
  }
]

/** A payment whose signature is not checked here: that is the work of `@x402/evm`, which the tests of `stock/` have. */
export interface Script {
  /** Whether the signatures are valid. */
  isValid: boolean
  /** What the scheme calls instead of the payment's own call. */
  writes?: Partial<Parameters<Signer["writeContract"]>[0]>
}

/** The steps of `ExactEvmScheme` that a settlement sees. */
export const schemeOf = (script: Script): ExactScheme =>
  class implements Scheme {
    readonly #signer: Signer
    readonly #store: Store

    constructor(signer: Signer, { pendingSettlementStore }: { pendingSettlementStore: Store }) {
      this.#signer = signer
      this.#store = pendingSettlementStore
    }

    /** A node that does not tell the code of the token makes a signature invalid. */
    readonly verify: Scheme["verify"] = async () => {
      const code = await this.#signer.getCode({ address: asset })
      if (script.isValid && code !== undefined) return { isValid: true }
      return { isValid: false, invalidReason: "invalid_exact_evm_signature" }
    }

    readonly settle: Scheme["settle"] = async (payload, requirements) => {
      const { signature, authorization } = payload.payload as {
        readonly signature: Hex
        readonly authorization: { readonly [key: string]: string }
      }
      const common = { network: requirements.network }
      const end = async (hash: string): Promise<SettleResponse> => {
        const { status } = await this.#signer.waitForTransactionReceipt({ hash: hash as Hex })
        if (status === "success") return { success: true, transaction: hash, ...common }
        return { success: false, errorReason: "invalid_exact_evm_transaction_failed", transaction: hash, ...common }
      }
      const known = await this.#store.get(signature)
      if (known !== undefined) return end(known)
      if (!(await this.verify(payload, requirements)).isValid) {
        return { success: false, errorReason: "invalid_exact_evm_signature", transaction: "", ...common }
      }
      const { from, to, value = "0", validAfter = "0", validBefore = "0", nonce } = authorization
      const [r, s, v] = [signature.slice(0, 66), `0x${signature.slice(66, 130)}`, Number(`0x${signature.slice(130)}`)]
      try {
        const hash = await this.#signer.writeContract({
          address: asset,
          abi: transferAbi,
          functionName: "transferWithAuthorization",
          args: [from, to, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce, v, r, s],
          ...script.writes
        })
        return await end(hash)
      } catch (error) {
        const errorMessage = error instanceof Error ? error.message : String(error)
        const errorReason = "invalid_exact_evm_transaction_failed"
        return { success: false, errorReason, errorMessage, transaction: "", ...common }
      }
    }
  }
