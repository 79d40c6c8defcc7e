// The language server of TypeScript, which editors use: what hovering over a name in a program shows.
import { Effect } from "effect"
import { spawn } from "node:child_process"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { root, write } from "./Project.ts"

interface Message {
  readonly id?: number
  readonly method?: string
  readonly result?: { readonly contents?: { readonly value?: string } } | null
}

const separator = "\r\n\r\n"

/** The first message of what was received, and the rest. `undefined`: it is not complete. */
const first = (received: Buffer): readonly [Message, Buffer] | undefined => {
  const end = received.indexOf(separator)
  if (end < 0) return undefined
  const start = end + separator.length
  const length = Number(/Content-Length: (\d+)/.exec(received.subarray(0, end).toString())?.[1])
  if (received.length < start + length) return undefined
  const message: Message = JSON.parse(received.subarray(start, start + length).toString())
  return [message, received.subarray(start + length)]
}

const start = Effect.acquireRelease(
  Effect.sync(() => {
    const child = spawn(path.join(root, "node_modules/.bin/tsc"), ["--lsp", "--stdio"], {
      stdio: ["pipe", "pipe", "ignore"]
    })
    const waiting = new Map<number, (result: Message["result"]) => void>()
    const send = (message: object) => {
      const text = JSON.stringify({ jsonrpc: "2.0", ...message })
      child.stdin.write(`Content-Length: ${Buffer.byteLength(text)}${separator}${text}`)
    }
    let received = Buffer.alloc(0)
    child.stdout.on("data", (data: Buffer) => {
      received = Buffer.concat([received, data])
      for (let found = first(received); found !== undefined; found = first(received)) {
        const [{ id, method, result }, rest] = found
        received = Buffer.from(rest)
        // The server waits for the answers to its own requests.
        if (id !== undefined && method !== undefined) send({ id, result: null })
        else if (id !== undefined) waiting.get(id)?.(result)
      }
    })
    const request = (method: string, params: object) =>
      Effect.callback<Message["result"]>((resume) => {
        waiting.set(waiting.size, (result) => resume(Effect.succeed(result)))
        send({ id: waiting.size - 1, method, params })
      })
    return { child, request, notify: (method: string, params: object) => send({ method, params }) }
  }),
  ({ child }) => Effect.sync(() => child.kill())
)

/** What the server shows at places of a program of the project. A place is the first occurrence of a text that begins with a name. */
export const hovers = Effect.fnUntraced(function* (home: string, program: string, places: ReadonlyArray<string>) {
  const file = "hover.ts"
  yield* write(home, { [file]: program })
  const { notify, request } = yield* start
  const rootUri = pathToFileURL(home).href
  const uri = `${rootUri}/${file}`
  const capabilities = { textDocument: { hover: { contentFormat: ["markdown"] } } }
  yield* request("initialize", { processId: process.pid, rootUri, capabilities })
  notify("initialized", {})
  notify("textDocument/didOpen", { textDocument: { uri, languageId: "typescript", version: 1, text: program } })
  return yield* Effect.forEach(places, (place) => {
    const before = program.slice(0, program.indexOf(place)).split("\n")
    const position = { line: before.length - 1, character: before.at(-1)?.length ?? 0 }
    const hover = request("textDocument/hover", { textDocument: { uri }, position })
    return Effect.map(hover, (result) => result?.contents?.value ?? "")
  })
}, Effect.scoped)
