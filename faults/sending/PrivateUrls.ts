// Private endpoints in front of the node of a case. Their bytes reach the node in the moment before a block, past the proxies of normal URLs,
// so that a request to a normal URL with something secret was made by the service.
import { Effect } from "effect"
import * as http from "node:http"
import { keccak256, parseTransaction, recoverTransactionAddress } from "viem"
import type { Hex, TransactionSerialized } from "viem"
import * as PrivateEndpoint from "../../testkit/PrivateEndpoint.ts"
import * as Target from "../../testkit/Target.ts"
import type { Node } from "./Node.ts"

/** Milliseconds between two blocks. */
const blockTime = 500

interface Bytes extends PrivateEndpoint.PrivateBytes {
  readonly raw: Hex
}

interface Call {
  readonly id: unknown
  readonly method: string
  readonly params: ReadonlyArray<unknown>
}

const read = async (raw: TransactionSerialized): Promise<Bytes> => {
  const { data = "0x", gas = 0n, nonce = 0, to, value = 0n, ...fees } = parseTransaction(raw)
  const { maxFeePerGas: maxFee = 0n, maxPriorityFeePerGas: tip = 0n } = fees
  const sender = (await recoverTransactionAddress({ serializedTransaction: raw })).toLowerCase()
  return {
    raw,
    hash: keccak256(raw),
    nonce,
    maxFee,
    tip,
    cost: value + gas * maxFee,
    to: to?.toLowerCase(),
    value,
    data,
    sender
  }
}

const callsIn = async (request: http.IncomingMessage) => {
  let text = ""
  for await (const chunk of request) text += String(chunk)
  const body = JSON.parse(text) as Call | ReadonlyArray<Call>
  return { isBatch: Array.isArray(body), calls: [body].flat() as ReadonlyArray<Call> }
}

/** What normal URLs were asked so far. */
type Seen = () => number

/** `count` endpoints for the account of one lane. `seen`: requests to normal URLs. */
export const start = Effect.fnUntraced(function* (node: Node, count: number, seen: Seen) {
  yield* node.call("evm_setIntervalMining", [0])
  const chain = { address: "", count: 0, height: 0 }
  /** How many requests normal URLs had got when a block first showed the hash. Infinity: none has. */
  const shownAfter = new Map<string, number>()
  const every: Array<Bytes> = []
  const run = <A>(effect: Effect.Effect<A>) => Effect.runPromise(effect)

  const refresh = Effect.gen(function* () {
    chain.height = Number(yield* node.call("eth_blockNumber", []))
    if (chain.address === "") return
    chain.count = Number(yield* node.call("eth_getTransactionCount", [chain.address, "latest"]))
  })

  const endpoints = Array.from({ length: count }, () =>
    PrivateEndpoint.make<Bytes>({
      count: () => chain.count,
      height: () => chain.height,
      publish: ({ raw }) => void run(node.call("eth_sendRawTransaction", [raw])),
      reverts: () => false
    })
  )

  const answer = async (endpoint: (typeof endpoints)[number], { id, method, params }: Call) => {
    const head = { jsonrpc: "2.0", id }
    const refused = (message: string) => ({ ...head, error: { code: -32_000, message } })
    if (method === "eth_chainId") return { ...head, result: "0x7a69" }
    if (method === "eth_sendRawTransaction") {
      const bytes = await read(params[0] as TransactionSerialized)
      chain.address = bytes.sender
      if (!shownAfter.has(bytes.hash)) {
        shownAfter.set(bytes.hash, Infinity)
        every.push(bytes)
      }
      await run(refresh)
      const given = endpoint.offer(bytes)
      if (given === undefined) return undefined
      return "hash" in given ? { ...head, result: given.hash } : refused(given.error)
    }
    return method === "eth_estimateGas" && endpoint.manners.answersReads
      ? { ...head, result: await run(node.call(method, params)) }
      : refused(`the method ${method} is not available`)
  }

  const urls = yield* Effect.forEach(endpoints, (endpoint) => {
    const server = http.createServer(async (request, response) => {
      const { isBatch, calls } = await callsIn(request)
      if (endpoint.manners.isDead) return void response.destroy()
      const answers = await Promise.all(calls.map((call) => answer(endpoint, call)))
      if (answers.includes(undefined)) return void response.destroy()
      response.end(JSON.stringify(isBatch ? answers : answers[0]))
    })
    return Effect.map(Target.listen(server), (target) => target.url())
  })

  /** Puts what is due into a block. What its block shows is no secret any more. */
  const mine = Effect.gen(function* () {
    yield* refresh
    const due = [...new Set(endpoints.flatMap((endpoint) => endpoint.due()))]
    for (const { raw } of due) yield* Effect.ignoreCause(node.call("eth_sendRawTransaction", [raw]))
    // Requests that are made from here on may have read the block.
    const before = seen()
    yield* node.call("evm_mine", [])
    const block = yield* node.call("eth_getBlockByNumber", ["latest", false])
    const { transactions } = block as { readonly transactions: ReadonlyArray<string> }
    for (const hash of transactions) if (shownAfter.get(hash) === Infinity) shownAfter.set(hash, before)
  })

  yield* Effect.forkScoped(Effect.forever(Effect.andThen(mine, Effect.sleep(blockTime))))

  return { urls, endpoints, every, shownAfter }
})

export type PrivateUrls = Effect.Success<ReturnType<typeof start>>

/** A transfer of nothing to the own account is no secret. */
const isNoop = ({ to, sender, data, value }: Bytes): boolean => to === sender && data === "0x" && value === 0n

/**
 * What requests to normal URLs have that they must not: the hash of private bytes before a block showed it, and the word of a call that was secret.
 * `publicAfter`: how many requests there were when the word of a slot was no secret any more; undefined: it never was one, Infinity: it always is.
 */
export const leaksIn = (
  requests: ReadonlyArray<unknown>,
  { every, shownAfter }: PrivateUrls,
  words: RegExp,
  publicAfter: (word: string) => number | undefined
): ReadonlyArray<string> => {
  const secret = new Map(every.flatMap((bytes) => (isNoop(bytes) ? [] : [[bytes.hash.slice(2), bytes] as const])))
  return requests.flatMap((request, index) => {
    const text = JSON.stringify(request).toLowerCase()
    const isEarly = (hash: string) => {
      const bytes = secret.get(hash)
      if (bytes === undefined || index >= (shownAfter.get(bytes.hash) ?? Infinity)) return false
      const [word] = bytes.data.match(words) ?? []
      return index < ((word === undefined ? undefined : publicAfter(word)) ?? -1)
    }
    const hashes = (text.match(/[0-9a-f]{64}/g) ?? []).filter(isEarly)
    const calls = (text.match(words) ?? []).filter((word) => index < (publicAfter(word) ?? -1))
    return [...hashes, ...calls].map((what) => `${what} in request ${index}: ${text.slice(0, 300)}`)
  })
}
