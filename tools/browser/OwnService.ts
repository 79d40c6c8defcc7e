// The service of an operator, for tests: three relayers on a chain behind three providers that can fail, and a receiver of webhooks.
import { Context, Effect, Layer, Scope } from "effect"
import { once } from "node:events"
import * as net from "node:net"
import type { Socket } from "node:net"
import * as Anvil from "../../testkit/Anvil.ts"
import * as Receiver from "../../testkit/Receiver.ts"
import { freePort } from "../../testkit/process/Ports.ts"
import { folder } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"
import { browser, call, textOf } from "./ConsoleInBrowser.ts"
import type { Running } from "./ConsoleInBrowser.ts"

interface Provider {
  /** Host and port, as the service names it. */
  readonly host: string
  /** With a secret, which responses mask. */
  readonly url: string
  /** Refuses connections, also those that are open. */
  readonly refuse: () => Promise<void>
  readonly accept: () => Promise<void>
  /** Paths, with the query, of the requests so far. */
  readonly asked: ReadonlyArray<string>
}

/** Forwards connections to the chain. */
const provider = (address: string, chainUrl: string): Effect.Effect<Provider, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.flatMap(freePort, (port) =>
      Effect.promise(async () => {
        const chain = new URL(chainUrl)
        const open = new Set<Socket>()
        const asked: Array<string> = []
        const server = net.createServer((socket) => {
          const onward = net.connect(Number(chain.port), chain.hostname)
          for (const one of [socket, onward]) {
            open.add(one)
            one.on("error", () => one.destroy()).on("close", () => open.delete(one))
          }
          socket.on("data", (data) => {
            const [, path] = /^POST (\S+) HTTP/.exec(data.toString("latin1")) ?? []
            if (path !== undefined) asked.push(path)
          })
          socket.pipe(onward).pipe(socket)
        })
        const accept = async () => void (await once(server.listen(port, address), "listening"))
        await accept()
        const refuse = async () => {
          const closed = new Promise((resolve) => server.close(resolve))
          for (const socket of open) socket.destroy()
          await closed
        }
        const host = `${address}:${port}`
        return { host, url: `http://${host}/?key=secret`, refuse, accept, asked }
      })
    ),
    ({ refuse }) => Effect.promise(refuse)
  )

/** Ids of the relayers: two use the URL of their network, the third has two URLs of its own. */
export const relayers = ["first", "second", "third"] as const

const ether = 10n ** 18n

/** Wei of each relayer. */
const funds = 100n * ether

const created = async (running: Running, route: string, body: object) => {
  const { status, data, error } = await call(running, "POST", route, body)
  if (status !== 201) throw new Error(`POST ${route}: ${status} ${error}`)
  return data
}

export interface Own extends Running {
  readonly chain: Effect.Success<ReturnType<typeof Anvil.start>>
  readonly providers: Readonly<Record<"a" | "b" | "c", Provider>>
  readonly receiver: Receiver.Receiver
  /** Kills the service and starts it again on the same port and data. Returns when it listens. */
  readonly restart: (whileDown: () => Promise<void>) => Promise<void>
}

export class OwnService extends Context.Service<OwnService, Own>()("effect-relayer-browser/OwnService") {
  /** `checkInterval`: milliseconds between two checks of a healthy relayer. */
  static readonly layerCheckedEvery = (checkInterval: number) =>
    Layer.effect(
      OwnService,
      Effect.gen(function* () {
        const opened = yield* browser
        const chain = yield* Anvil.start({ blockTime: 1 })
        const [a, b, c] = yield* Effect.all([
          provider("127.0.0.2", chain.url),
          provider("127.0.0.3", chain.url),
          provider("127.0.0.4", chain.url)
        ])
        const receiver = yield* Receiver.make
        const port = yield* freePort
        const options: Service.Options = {
          folder: yield* folder,
          env: {
            API_KEY: Service.apiKey,
            PORT: String(port),
            OUTBOUND_ALLOW: "127.0.0.0/8",
            WATCH: "on",
            HEALTH_CHECK_INTERVAL_MS: String(checkInterval)
          }
        }
        let service = yield* Service.listen(options)
        const scope = yield* Effect.scope
        const restart = Effect.fnUntraced(function* (whileDown: () => Promise<void>) {
          yield* service.kill("SIGKILL")
          yield* service.exited
          yield* Effect.promise(whileDown)
          service = yield* Service.listen(options).pipe(Effect.provideService(Scope.Scope, scope))
        })
        const running = { baseUrl: service.baseUrl, key: Service.apiKey, browser: opened }
        yield* Effect.promise(async () => {
          await created(running, "notifications", { id: "ops", url: receiver.url })
          await created(running, "networks", {
            network_type: "evm",
            name: "harbour",
            chain_id: 31_337,
            symbol: "ETH",
            average_blocktime_ms: 1_000,
            required_confirmations: 1,
            features: ["eip1559"],
            is_testnet: true,
            rpc_urls: [a.url]
          })
          for (const id of relayers) {
            await created(running, "signers", { id: `key-${id}`, type: "plain" })
            const relayer = await created(running, "relayers", {
              id,
              name: `The ${id}`,
              network_type: "evm",
              network: "harbour",
              paused: false,
              signer_id: `key-${id}`,
              notification_id: "ops",
              ...(id === "third" ? { custom_rpc_urls: [{ url: a.url }, { url: b.url }] } : {})
            })
            await Effect.runPromise(chain.fund(textOf(relayer, "address"), funds))
          }
        })
        return {
          ...running,
          chain,
          providers: { a, b, c },
          receiver,
          restart: (whileDown: () => Promise<void>) => Effect.runPromise(restart(whileDown))
        }
      })
    )

  /** Often enough for tests that wait for a check. */
  static readonly layer = OwnService.layerCheckedEvery(5_000)
}
