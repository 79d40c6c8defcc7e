// Serves providers of the stand-in ledger over HTTP: one path per provider, and one that changes what they do.
import { Effect } from "effect"
import * as http from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import * as Target from "../Target.ts"
import { accountIn, keyOf } from "./Entries.ts"
import type { Network } from "./Network.ts"
import { RpcError } from "./Methods.ts"
import { honest, Lost, Provider, Throttled } from "./Provider.ts"
import type { Faults } from "./Provider.ts"
import type { Voted } from "./Voted.ts"

interface Call {
  readonly id?: unknown
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>>
}

/** Bytes of a request that stellar-rpc takes at most. */
const maxRequestBytes = 512 * 1024

class TooLarge extends Error {}

const bodyOf = async (request: IncomingMessage): Promise<unknown> => {
  const parts: Array<Buffer> = []
  for await (const part of request) parts.push(part)
  const body = Buffer.concat(parts)
  if (body.length > maxRequestBytes && request.url !== "/control") throw new TooLarge("http: request body too large")
  return JSON.parse(body.toString() || "null")
}

const answerOne = (provider: Provider, { id, method, params = {} }: Call) => {
  try {
    return { jsonrpc: "2.0", id, result: provider.call(method, params) }
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    return { jsonrpc: "2.0", id, error: { code: error.code, message: error.message } }
  }
}

/** What a test can ask for over HTTP, one member per action. */
export interface Control {
  readonly close?: number
  readonly grant?: { readonly address: string; readonly stroops: string }
  /** The same to each of many accounts. */
  readonly grantAll?: { readonly addresses: ReadonlyArray<string>; readonly stroops: string }
  /** Grants the stroops, but only if the account does not exist. */
  readonly create?: { readonly address: string; readonly stroops: string }
  readonly running?: boolean
  readonly restart?: number
  readonly faults?: { readonly provider: number; readonly set: Partial<Faults> }
  /** What validators have voted from now on. Amounts are texts. */
  readonly voted?: Partial<Omit<Voted, "baseFee" | "baseReserve">> & {
    readonly baseFee?: string
    readonly baseReserve?: string
  }
  readonly ledgerOperations?: number
  readonly queueOperations?: number
  /** The account of `balance`. */
  readonly read?: string
}

const votedBy = (former: Voted, { baseFee, baseReserve, ...others }: NonNullable<Control["voted"]>): Voted => ({
  ...former,
  ...others,
  ...(baseFee === undefined ? {} : { baseFee: BigInt(baseFee) }),
  ...(baseReserve === undefined ? {} : { baseReserve: BigInt(baseReserve) })
})

export interface Status {
  readonly ledger: number
  readonly closeTime: number
  readonly passphrase: string
  readonly counts: ReadonlyArray<Readonly<Record<string, number>>>
  /** How often the contract that counts its calls was called with effect. */
  readonly counter: number
  /** Stroops of the account of `read`. Absent: none was named, or it does not exist. */
  readonly balance?: string
}

export class StandIn {
  readonly network: Network
  readonly providers: ReadonlyArray<Provider>

  constructor(network: Network) {
    this.network = network
    this.providers = network.nodes.map((_, node) => new Provider(network, node))
  }

  /** Absent members of `set` stay; `{}` is nothing to change. */
  control({ close = 0, create, grant, grantAll, read, ...given }: Control): Status {
    const { network } = this
    const { running, restart, faults, ledgerOperations, queueOperations, voted } = given
    if (voted !== undefined) network.store.voted = votedBy(network.store.voted, voted)
    if (running !== undefined) network.isRunning = running
    if (ledgerOperations !== undefined) network.ledgerOperations = BigInt(ledgerOperations)
    if (queueOperations !== undefined) for (const queue of network.nodes) queue.capacity = BigInt(queueOperations)
    if (restart !== undefined) network.nodes[restart]?.restart()
    const isMissing = create !== undefined && accountIn(network.reads, create.address) === undefined
    if (isMissing) network.grant(create.address, BigInt(create.stroops))
    if (grant !== undefined) network.grant(grant.address, BigInt(grant.stroops))
    for (const address of grantAll?.addresses ?? []) network.grant(address, BigInt(grantAll?.stroops ?? 0))
    const provider = faults === undefined ? undefined : this.providers[faults.provider]
    if (provider !== undefined) provider.faults = { ...provider.faults, ...faults?.set }
    for (let left = close; left > 0; left--) network.close()
    const { number, closeTime } = network.latest
    const counts = this.providers.map(({ counts }) => Object.fromEntries(counts))
    const counter = network.reads.get(keyOf.counter)
    const account = read === undefined ? undefined : accountIn(network.reads, read)
    return {
      ledger: number,
      closeTime,
      passphrase: network.passphrase,
      counts,
      counter: counter?.kind === "counter" ? counter.value : 0,
      ...(account === undefined ? {} : { balance: String(account.balance) })
    }
  }

  recover(): void {
    for (const provider of this.providers) provider.faults = honest()
  }

  #answer(path: string, body: unknown): unknown {
    if (path === "/control") return this.control((body ?? {}) as Control)
    const provider = this.providers[Number(path.slice(1))]
    if (provider === undefined) return undefined
    if (Array.isArray(body) && provider.faults.refusesBatches) {
      return { jsonrpc: "2.0", id: null, error: { code: -32600, message: "Invalid Request" } }
    }
    const calls = (Array.isArray(body) ? body : [body]) as ReadonlyArray<Call>
    const answers = calls.map((one) => answerOne(provider, one))
    return Array.isArray(body) ? answers : answers[0]
  }

  readonly listener = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      const answer = this.#answer(request.url ?? "/", await bodyOf(request))
      if (answer === undefined) return void response.writeHead(404).end()
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer))
    } catch (error) {
      if (error instanceof Throttled) return void response.writeHead(429, { "retry-after": "1" }).end()
      if (error instanceof Lost) return void response.destroy()
      if (error instanceof TooLarge) return void response.writeHead(500).end(error.message)
      response.writeHead(400).end(String(error))
    }
  }
}

/** Listens on a free port of 127.0.0.1. Each provider has a URL. */
export const serve = Effect.fnUntraced(function* (network: Network) {
  const standIn = new StandIn(network)
  const server = http.createServer((request, response) => void standIn.listener(request, response))
  const { url } = yield* Target.listen(server)
  return { standIn, url: (provider = 0) => url(`/${provider}`), control: url("/control") }
})
