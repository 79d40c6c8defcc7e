// The console in a window of happy-dom, with responses that a test gives instead of a service. Such a window has no layout, draws nothing and
// has no other tabs: `tools/browser` has the tests that need them. Its pages use the real clock, because happy-dom has no other one.
import { assert } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import type { Scope } from "effect"
import { Window } from "happy-dom"
import type { Element } from "happy-dom"
import { readFileSync } from "node:fs"
import * as path from "node:path"
import * as vm from "node:vm"
import { version } from "../src/api/Version.ts"
import type { Grant } from "../src/domain/access/ApiKey.ts"
import { grantsOfSession } from "../src/domain/access/Caller.ts"
import { bundled } from "./console/Bundle.ts"

const origin = "http://console.test"

/** What a page asks the service for. */
interface Asked {
  readonly method: string
  /** Below `/console`, without the query. */
  readonly path: string
  readonly query: URLSearchParams
  /** The decoded JSON of its body. */
  readonly body: unknown
  /** Its header `Idempotency-Key`. `null`: it has none. */
  readonly key: string | null
}

/** The `data` of the response, or the whole response. `undefined`: the response that was recorded. */
export type Answer = (asked: Asked) => unknown

/** A whole response instead of its `data`. */
export class Whole {
  readonly json: object
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  constructor(json: object, status = 200, headers: Readonly<Record<string, string>> = {}) {
    this.json = json
    this.status = status
    this.headers = headers
  }
}

/** Responses of the development service to GET, by their path. `tools/browser/ConsoleRecorded.test.ts` writes and compares them. */
export const recordedFile = path.join(import.meta.dirname, "console/recorded.json")

type Recorded = Readonly<Record<string, { readonly data: unknown }>>

/** The ids of the recorded transactions, by the type of their network. */
export const transactionIds = {
  evm: "00000000-0000-4000-8000-0000000000e1",
  solana: "00000000-0000-4000-8000-0000000000a1",
  stellar: "00000000-0000-4000-8000-0000000000b1"
} as const

/** Pages below `/console/` with their title, and the scopes that each needs. */
export const pages = [
  ["relayers", "Relayers", ["relayers:read"]],
  ["relayers/dev-evm", "Relayer", ["relayers:read"]],
  ["relayers/dev-evm/send", "Send a transaction", ["relayers:read", "transactions:write"]],
  ["transactions", "Transactions", ["transactions:read"]],
  ["webhooks", "Webhooks", ["notifications:read"]],
  ["events", "Events", ["events:read"]],
  ["claims", "Claims", ["claims:read"]],
  ["networks", "Networks", ["networks:read"]],
  ["signers", "Signers", ["signers:read"]],
  ["keys", "API keys", ["api-keys:read"]],
  ["audit", "Audit log", ["audit:read"]]
] as const

export interface Options {
  readonly answer?: Answer
  /** The scopes of the session's key. */
  readonly scopes?: ReadonlyArray<Grant>
  readonly isReadOnly?: boolean
}

export interface Shown {
  readonly document: Window["document"]
  /** Requests other than GET. */
  readonly asked: ReadonlyArray<Asked>
  /** Errors, and requests that have no response. */
  readonly problems: ReadonlyArray<string>
  /** Goes to a page below `/console/`, and waits until it has loaded. */
  readonly goto: (route: string) => Promise<void>
  /** Where the window is, below `/console/`. */
  readonly route: () => string
  /** Waits until the check gives a value. `what` is awaited. */
  readonly until: <A>(what: string, check: () => A | false | null | undefined) => Promise<A>
  /** Waits until an element that the selector names has this text, or one that the pattern fits, among others. */
  readonly shows: (text: string | RegExp, selector?: string) => Promise<Element>
  readonly all: (selector: string, within?: Element) => ReadonlyArray<Element>
  /** Those whose label or text is exactly `name`. */
  readonly named: (selector: string, name: string, within?: Element) => ReadonlyArray<Element>
  /** The first part of the page with this name. */
  readonly region: (name: string) => Element | undefined
  readonly click: (element: Element) => Promise<void>
  /** Enters text into a field, or chooses one of its options. */
  readonly enter: (field: Element, value: string) => Promise<void>
  /** Opens what a person can fold. */
  readonly unfold: (details: Element) => Promise<void>
}

/** The text of an element as a reader sees it, with single spaces. */
export const textOf = (element: Element | null | undefined): string =>
  (element?.textContent ?? "").replace(/\s+/g, " ").trim()

export const objectOf = (value: unknown): object =>
  typeof value === "object" && value !== null ? value : assert.fail("no object")

/** A field of an object of the API. */
export const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && name in value ? Reflect.get(value, name) : undefined

/** Milliseconds after which an awaited thing is missing. It comes within one on an idle machine. */
const patience = 60_000

/** Timers and responses that are due have their turn. */
const turn = () => new Promise((resolve) => setTimeout(resolve, 1))

/** The page is drawn in the first of these turns, and has asked for what it shows in the second. */
const drawn = async () => {
  for (let count = 0; count < 3; count += 1) await turn()
}

/** Another tab holds the lock, which reads the stream of events: it stays silent. */
const locks = { request: () => new Promise(() => undefined) }

/** What the script needs and happy-dom lacks. The bodies of responses are bytes of this realm. */
const lacking = (window: Window) => ({
  ArrayBuffer,
  Uint8Array,
  BroadcastChannel: class extends window.EventTarget {
    postMessage() {}
    close() {}
  }
})

const sessionOf = ({ scopes = ["*"], isReadOnly = false }: Options) => ({
  id: "6b0f2c1d9a3e4f5867ab01cd23ef4567",
  key_id: "tests",
  key_name: "tests",
  read_only: isReadOnly,
  scopes: grantsOfSession({ scopes }, isReadOnly),
  created_at: "2026-01-02T03:04:05.678Z",
  expires_at: "2036-01-02T03:04:05.678Z",
  idle_ends_at: "2036-01-02T03:04:05.678Z"
})

/** The part of a `Response` that Effect's client reads. The streams of a whole one belong to this realm. */
const responseOf = (json: unknown, status: number, others: Readonly<Record<string, string>> = {}) => {
  const bytes = new TextEncoder().encode(JSON.stringify(json))
  return {
    status,
    headers: new Headers({
      "content-type": "application/json",
      "x-relayer-version": version,
      "x-request-id": "req-1",
      ...others
    }),
    arrayBuffer: () => Promise.resolve(bytes.buffer),
    text: () => Promise.resolve(JSON.stringify(json))
  }
}

const bodyOf = (body: unknown): unknown => {
  if (body === null || body === undefined) return undefined
  const text = typeof body === "string" ? body : new TextDecoder().decode(Object(body))
  return text === "" ? undefined : JSON.parse(text)
}

const open = (code: vm.Script, recorded: Recorded, options: Options): Effect.Effect<Shown, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const asked: Array<Asked> = []
      const problems: Array<string> = []
      const window = new Window({
        url: `${origin}/console/search`,
        width: 1440,
        height: 900,
        settings: { enableJavaScriptEvaluation: true, suppressInsecureJavaScriptEnvironmentWarning: true }
      })
      const { document } = window
      const session = sessionOf(options)
      const listed = { ...session, last_used_at: session.created_at, from: "203.0.113.7", browser: "", current: true }

      const fetched = (
        url: string,
        init: Pick<RequestInit, "method" | "headers"> & { readonly body?: unknown } = {}
      ) => {
        const { pathname, searchParams: query } = new URL(url, origin)
        const { method = "GET" } = init
        const key = new Headers(init.headers).get("idempotency-key")
        const one: Asked = { method, path: pathname.replace(/^\/console/, ""), query, body: bodyOf(init.body), key }
        if (method !== "GET") asked.push(one)
        const given = options.answer?.(one)
        if (given instanceof Whole) return responseOf(given.json, given.status, given.headers)
        if (given !== undefined) return responseOf({ success: true, data: given }, 200)
        if (one.path === "/session") return responseOf({ success: true, data: session }, 200)
        if (one.path === "/sessions") return responseOf({ success: true, data: [listed] }, 200)
        const kept = method === "GET" ? recorded[one.path] : undefined
        if (kept !== undefined) return responseOf(kept, 200)
        problems.push(`no response for ${method} ${one.path}?${query}`)
        return responseOf({ success: false, error: "not recorded" }, 404)
      }

      Object.assign(window, lacking(window), {
        fetch: async (url: unknown, init?: object) => fetched(String(url), init)
      })
      Object.defineProperty(window.navigator, "locks", { value: locks })
      window.addEventListener("error", (event) => problems.push(String(Reflect.get(event, "message"))))
      window.console.error = (...parts: ReadonlyArray<unknown>) => void problems.push(parts.map(String).join(" "))
      window.sessionStorage.setItem("effect-relayer.proof", "p".repeat(43))
      document.body.innerHTML = '<div id="console"></div>'
      code.runInContext(window)

      const until: Shown["until"] = async (what, check) => {
        const start = performance.now()
        for (;;) {
          const found = check()
          if (found !== false && found !== null && found !== undefined) return found
          if (performance.now() - start > patience)
            throw new Error(
              `${what} is missing at ${window.location.href}: ${textOf(document.body)}\n${problems.join("\n")}`
            )
          await turn()
        }
      }
      const all: Shown["all"] = (selector, within) => [...(within ?? document).querySelectorAll(selector)]
      const named: Shown["named"] = (selector, name, within) =>
        all(selector, within).filter((element) => (element.getAttribute("aria-label") ?? textOf(element)) === name)
      const has = (text: string | RegExp) => (element: Element) =>
        typeof text === "string" ? textOf(element) === text : text.test(textOf(element))
      const shown: Shown = {
        document,
        asked,
        problems,
        until,
        all,
        named,
        region: (name) => named("section, [role=region]", name)[0],
        route: () => (window.location.pathname + window.location.search).replace(/^\/console\/?/, ""),
        goto: async (route) => {
          window.history.pushState(null, "", `/console/${route}`)
          window.dispatchEvent(new window.PopStateEvent("popstate"))
          await drawn()
          await until(`the page ${route}`, () => document.querySelector("main h1"))
          await until(`all of ${route}`, () => document.querySelector("[aria-busy=true]") === null)
        },
        shows: (text, selector = "*") => until(String(text), () => all(selector).find(has(text))),
        click: async (element) => {
          element.dispatchEvent(new window.MouseEvent("click", { bubbles: true, cancelable: true, composed: true }))
          await drawn()
        },
        enter: async (field, value) => {
          Object.assign(field, { value })
          for (const type of ["input", "change"]) field.dispatchEvent(new window.Event(type, { bubbles: true }))
          await drawn()
        },
        unfold: async (details) => {
          Object.assign(details, { open: true })
          details.dispatchEvent(new window.Event("toggle"))
          await drawn()
        }
      }
      return { window, shown }
    }),
    ({ window }) => Effect.promise(() => window.happyDOM.close())
  ).pipe(Effect.map(({ shown }) => shown))

/** A worker compiles it once for all windows of its files, which takes as long as to show a page. */
let compiled: Promise<vm.Script> | undefined

/** The bundled console, and responses of the development service. */
export class ConsoleWindow extends Context.Service<
  ConsoleWindow,
  {
    /** Opens a window with a session, which is closed with its scope. */
    open(options?: Options): Effect.Effect<Shown, never, Scope.Scope>
    /** The data of a recorded response, by its path. */
    recorded(path: string): unknown
  }
>()("effect-relayer/testkit/ConsoleWindow") {
  static readonly layer = Layer.effect(
    ConsoleWindow,
    Effect.gen(function* () {
      const code = yield* Effect.promise(() => (compiled ??= bundled().then((text) => new vm.Script(text))))
      const recorded = JSON.parse(readFileSync(recordedFile, "utf8")) as Recorded
      return {
        open: (options = {}) => open(code, recorded, options),
        recorded: (path) => recorded[path]?.data
      }
    })
  )
}
