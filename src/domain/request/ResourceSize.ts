// The largest size of a relayer or a network. Every change writes the resource to its events, its deliveries and the audit log,
// so its size decides what a small request costs.
import { Effect } from "effect"
import { BadRequest } from "./Request.ts"

/** Bytes of JSON, in UTF-8. More than 1,000 addresses or 300 RPC URLs, and 16 resources fit into a page of 1 MiB. */
export const maxResourceBytes = 65_536

const encoder = new TextEncoder()

/** Bytes of a value as JSON. */
export const bytesOf = (value: unknown): number => {
  const text = JSON.stringify(value, (_, child: unknown) => (typeof child === "bigint" ? Number(child) : child))
  return text === undefined ? 0 : encoder.encode(text).length
}

/** Fails with the largest field if the request is too large. A change may keep the size of `before`, the current resource. */
export const check = (request: object, before?: object): Effect.Effect<void, BadRequest> =>
  Effect.suspend(() => {
    const bytes = bytesOf(request)
    if (bytes <= maxResourceBytes || (before !== undefined && bytes <= bytesOf(before))) return Effect.void
    const fields = Object.entries(request).map(([field, value]) => ({ field, bytes: bytesOf(value) }))
    const [largest] = fields.sort((one, other) => other.bytes - one.bytes)
    const message = `makes the resource ${bytes} bytes of JSON; at most ${maxResourceBytes} are allowed`
    return Effect.fail(BadRequest.of([{ field: largest?.field ?? "body", message }]))
  })

/** The first of the resources, as many as have together at most so many bytes of JSON. */
export const fitting = <A>(resources: ReadonlyArray<A>, bytes: number): ReadonlyArray<A> => {
  let left = bytes
  const end = resources.findIndex((resource) => (left -= bytesOf(resource)) < 0)
  return end === -1 ? resources : resources.slice(0, end)
}
