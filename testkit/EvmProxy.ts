// A proxy in front of an evm node that misbehaves as a test says: a table of behaviours, by method.
import { Effect, Predicate } from "effect"
import * as http from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import { parseTransaction, recoverTransactionAddress } from "viem"
import type { TransactionSerialized } from "viem"
import * as Target from "./Target.ts"

interface Call {
  readonly jsonrpc?: string
  readonly id: unknown
  readonly method: string
  readonly params: ReadonlyArray<unknown>
}

/** What the proxy does with a call. */
export type Behaviour =
  /** Forwards it after so many milliseconds. */
  | { readonly do: "delay"; readonly milliseconds: number }
  /** Neither forwards nor answers it: the connection is cut. */
  | { readonly do: "drop" }
  /** Forwards it, and cuts the connection instead of the answer. */
  | { readonly do: "silence" }
  /** Answers as if it had been forwarded: a transaction is swallowed. */
  | {
      readonly do: "lie"
      readonly result: (call: Call) => unknown
      /** Other calls are forwarded. Absent: it is for all calls. */
      readonly isFor?: (call: Call) => boolean
    }
  /** Forwards it, and changes the result. */
  | { readonly do: "change"; readonly result: (result: unknown, call: Call) => unknown }
  | { readonly do: "refuse"; readonly message: string; readonly code?: number }
  /** Refuses a transaction if so many others of its account are pending. */
  | { readonly do: "limit"; readonly pending: number; readonly message: string }
  | { readonly do: "status"; readonly status: number }

interface Rule {
  readonly behaviour: Behaviour
  left: number
}

const bodyOf = async (request: IncomingMessage) => {
  let text = ""
  for await (const chunk of request) text += String(chunk)
  const body = JSON.parse(text)
  return { isBatch: Array.isArray(body), calls: (Array.isArray(body) ? body : [body]) as ReadonlyArray<Call> }
}

const forward = async (url: string, call: Call): Promise<Record<string, unknown>> => {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(call)
  })
  return response.json()
}

/** The nonce of the transaction that `eth_sendRawTransaction` sends. */
export const nonceIn = ({ params }: Call): number => parseTransaction(params[0] as TransactionSerialized).nonce ?? 0

/** Pending transactions of the account before this one, if none is missing. */
const pendingBefore = async (url: string, call: Call): Promise<number> => {
  const raw = call.params[0] as TransactionSerialized
  const address = await recoverTransactionAddress({ serializedTransaction: raw })
  const count = { id: 1, method: "eth_getTransactionCount", params: [address, "latest"] }
  const { result } = await forward(url, { ...count, jsonrpc: "2.0" })
  return nonceIn(call) - Number(result)
}

class Cut extends Error {}
class Status extends Error {
  readonly status: number
  constructor(status: number) {
    super(`status ${status}`)
    this.status = status
  }
}

const answer = async (url: string, call: Call, behaviour: Behaviour | undefined): Promise<object> => {
  const { id } = call
  switch (behaviour?.do) {
    case undefined:
      return forward(url, call)
    case "delay":
      await new Promise((resolve) => setTimeout(resolve, behaviour.milliseconds))
      return forward(url, call)
    case "drop":
      throw new Cut()
    case "silence":
      await forward(url, call)
      throw new Cut()
    case "lie":
      return behaviour.isFor?.(call) === false
        ? forward(url, call)
        : { jsonrpc: "2.0", id, result: behaviour.result(call) }
    case "change": {
      const { result, ...rest } = await forward(url, call)
      return { ...rest, result: behaviour.result(result, call) }
    }
    case "refuse":
      return { jsonrpc: "2.0", id, error: { code: behaviour.code ?? -32000, message: behaviour.message } }
    case "limit":
      return (await pendingBefore(url, call)) < behaviour.pending
        ? forward(url, call)
        : { jsonrpc: "2.0", id, error: { code: -32000, message: behaviour.message } }
    case "status":
      throw new Status(behaviour.status)
  }
}

const fail = (response: ServerResponse, error: unknown) => {
  if (error instanceof Status) return response.writeHead(error.status).end()
  return response.destroy()
}

/** `url`: of the node. It may change with each call. */
export const make = Effect.fnUntraced(function* (given: string | (() => string)) {
  const url = typeof given === "string" ? () => given : given
  const rules = new Map<string, Rule>()
  const seen: Array<Call> = []

  const behaviourOf = (method: string): Behaviour | undefined => {
    const rule = rules.get(method) ?? rules.get("*")
    return rule !== undefined && rule.left-- > 0 ? rule.behaviour : undefined
  }

  const server = http.createServer(async (request, response) => {
    const { isBatch, calls } = await bodyOf(request)
    seen.push(...calls)
    try {
      const answers = await Promise.all(calls.map((call) => answer(url(), call, behaviourOf(call.method))))
      response.end(JSON.stringify(isBatch ? answers : answers[0]))
    } catch (error) {
      fail(response, error)
    }
  })
  const target = yield* Target.listen(server)

  const set = (method: string, behaviour: Behaviour, times = Infinity) =>
    void rules.set(method, { behaviour, left: times })

  /**
   * No index has the transactions of so many newest blocks, and no block with its transactions is shown before. Heights and counts
   * are those of the node, so that they name more than can be found.
   */
  const lagIndex = (lagOf: () => number) => {
    let head = 0
    const isHidden = (number: unknown) => typeof number === "string" && Number(number) > head - lagOf()
    const block = (result: unknown, { params: [tag, isFull] }: Call) => {
      const number = Predicate.hasProperty(result, "number") ? result.number : undefined
      if (tag === "latest" && typeof number === "string") head = Math.max(head, Number(number))
      return isFull === true && isHidden(number) ? null : result
    }
    const found = (result: unknown) =>
      Predicate.hasProperty(result, "blockNumber") && isHidden(result.blockNumber) ? null : result
    set("eth_getBlockByNumber", { do: "change", result: block })
    for (const method of ["Receipt", "ByHash", "BySenderAndNonce"]) {
      set(`eth_getTransaction${method}`, { do: "change", result: found })
    }
  }

  return {
    url: target.url(),
    lagIndex,
    /** All calls of all batches. */
    seen,
    /** Applies to `method`, or `*` for all, for as many calls as `times` says, or for all. */
    set,
    clear: () => rules.clear(),
    count: (method: string) => seen.filter((call) => call.method === method).length
  }
})
