// How large a batch of calls one URL takes. What it refused is remembered, and a larger batch is tried again after a while.
import type { RpcCall } from "./RpcBatch.ts"

/** Calls in one HTTP request: providers limit them, and 50 receipts stay within the limit of a response. */
export const maxCalls = 50

/** UTF-16 code units of the parameters in one HTTP request: half of what stellar-rpc takes by default (512 KiB). */
const maxLength = 262_144

/** A request shorter than this is never refused for its length: the smallest limit of a known node is 128 KiB. */
const shortLength = 65_536

/** Milliseconds after a refusal until a larger batch is tried. It doubles with each try that is refused, up to `longestWait`. */
const firstWait = 30_000

const longestWait = 1_800_000

export interface BatchSize {
  /** Calls in a batch that the URL takes, as far as it is known. */
  readonly calls: () => number
  /** Splits calls into batches, in their order. `most`: calls in a batch. Absent: what the URL takes, or one try with more. */
  pack<A extends RpcCall>(calls: ReadonlyArray<A>, now: number, most?: number): ReadonlyArray<ReadonlyArray<A>>
  /** The URL has answered each call of a batch. */
  took(calls: ReadonlyArray<RpcCall>, now: number): void
  /** The URL has refused a batch, or answered only `answered` of its calls. */
  refused(calls: ReadonlyArray<RpcCall>, now: number, answered?: number): void
  /** Whether the URL has ever answered this method. */
  knows(method: string): boolean
}

const lengthOf = ({ params }: RpcCall): number => (params === undefined ? 0 : JSON.stringify(params).length)

const totalOf = (calls: ReadonlyArray<RpcCall>): number => calls.reduce((sum, call) => sum + lengthOf(call), 0)

/** `declared`: calls in a batch that the provider is known to take. Times are of the monotonic clock, in milliseconds. */
export const make = (declared = maxCalls): BatchSize => {
  const methods = new Set<string>()
  let calls = Math.max(1, Math.min(declared, maxCalls))
  /** The smallest batch that was refused since `calls` are taken. */
  let tooMany: number | undefined = declared < maxCalls ? declared + 1 : undefined
  let length = maxLength
  let largestTaken = 0
  let wait = tooMany === undefined ? firstWait : longestWait
  let growAt: number | undefined

  /** Between what was taken and what was refused, or twice as many. */
  const larger = () =>
    Math.min(maxCalls, tooMany === undefined ? 2 * calls : Math.max(calls + 1, Math.floor((calls + tooMany) / 2)))

  /** One caller at a time tries a larger batch. */
  const next = (count: number, now: number): number => {
    if (count <= calls && length === maxLength) return calls
    growAt ??= now + wait
    if (now < growAt) return calls
    growAt = now + wait
    length = maxLength
    return calls < maxCalls && count > calls ? larger() : calls
  }

  const pack: BatchSize["pack"] = (given, now, most) => {
    const limit = most ?? next(given.length, now)
    const packed: Array<Array<(typeof given)[number]>> = []
    let filled = 0
    let isFirst = true
    for (const call of given) {
      const own = lengthOf(call)
      const last = packed.at(-1)
      // Only the first batch is larger than what the URL is known to take.
      const room = isFirst ? limit : Math.min(limit, calls)
      if (last !== undefined && last.length < room && filled + own <= length) {
        last.push(call)
        filled += own
        continue
      }
      isFirst = last === undefined
      packed.push([call])
      filled = own
    }
    return packed
  }

  return {
    calls: () => calls,
    pack,
    took: (given, now) => {
      const count = given.length
      largestTaken = Math.max(largestTaken, count)
      for (const { method } of given) methods.add(method)
      if (count <= calls) return
      calls = count
      if (tooMany !== undefined && count >= tooMany) tooMany = undefined
      wait = firstWait
      growAt = now + wait
    },
    refused: (given, now, answered = 0) => {
      const count = given.length
      if (count < 2) return
      const isForLength = count <= largestTaken && totalOf(given) >= shortLength
      if (isForLength) length = Math.min(length, Math.floor(totalOf(given) / 2))
      else if (count > calls) wait = Math.min(2 * wait, longestWait)
      else calls = Math.max(1, Math.min(Math.floor(count / 2), answered === 0 ? count : answered))
      if (!isForLength) {
        tooMany = Math.min(count, tooMany ?? count)
        largestTaken = Math.min(largestTaken, count - 1)
      }
      growAt = now + wait
    },
    knows: (method) => methods.has(method)
  }
}
